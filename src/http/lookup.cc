// SPDX-License-Identifier: Apache-2.0
#include "http/lookup.h"

#include <netdb.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "base/mutex.h"
#include "base/quote.h"
#include "os/fd.h"
#include "os/thread.h"

namespace tessera::http {
namespace {

using Addresses = std::vector<std::string>;

Result<Addresses> Resolve(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (error != 0) {
    return Fail(Reason::kUnavailable, "host {} was not found: {}", Brief(name),
                gai_strerror(error));
  }
  Addresses addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      addresses.emplace_back(text.data());
    }
  }
  freeaddrinfo(found);
  if (addresses.empty()) return Fail(Reason::kUnavailable, "{} has no address", Brief(name));
  return addresses;
}

}  // namespace

// The thread signals by a descriptor and not through the loop, since the loop may be gone when the
// resolver returns.
struct Lookup::Shared {
  os::Fd told{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Mutex mutex;
  Result<Addresses> found TESSERA_GUARDED_BY(mutex);
  void Tell(Result<Addresses> result) {
    const MutexLock lock(mutex);
    found = std::move(result);
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(told.get(), &one, sizeof one);
  }
};

Lookup::Lookup(os::Loop& loop, const std::string& name, Answer answer)
    : shared_(std::make_shared<Shared>()) {
  told_ = loop.WhenReadable(shared_->told.get(), [this, answer = std::move(answer)] {
    told_ = os::Loop::Handle();
    Result<Addresses> found = [this] {
      const MutexLock lock(shared_->mutex);
      return std::move(shared_->found);
    }();
    answer(std::move(found));
  });
  const Status started = os::StartThread([shared = shared_, name] { shared->Tell(Resolve(name)); });
  if (!started) shared_->Tell(Fail(started.error()));
}

}  // namespace tessera::http
