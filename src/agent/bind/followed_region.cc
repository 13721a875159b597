// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/followed_region.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>

#include "limiter/contract.h"

namespace tessera::agent {
namespace {

using limiter::Region;

constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

os::Fd OpenBeneath(const std::string& directory, const std::string& name) {
  const os::Fd in(open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!in.valid()) return {};
  open_how how{};
  how.flags = kFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  os::Fd file(static_cast<int>(syscall(SYS_openat2, in.get(), name.c_str(), &how, sizeof how)));
  // Before 5.6, and where a seccomp filter does not know it.
  if (!file.valid() && (errno == ENOSYS || errno == EPERM)) {
    file = os::Fd(openat(in.get(), name.c_str(), kFlags));
  }
  struct stat info{};
  const bool is_file = file.valid() && fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) &&
                       static_cast<uint64_t>(info.st_size) >= sizeof(Region);
  return is_file ? std::move(file) : os::Fd();
}

}  // namespace

FollowedRegion FollowedRegion::Open(const std::string& directory, const std::string& name) {
  FollowedRegion region;
  region.file_ = OpenBeneath(directory, name);
  if (!region.valid()) return {};
  uint64_t magic = 0;
  uint32_t version = 0;
  const bool is_known =
      region.Read(offsetof(Region, books.magic), magic) && magic == limiter::kBooksMagic &&
      region.Read(offsetof(Region, books.version), version) && version == limiter::kBooksVersion;
  return is_known ? std::move(region) : FollowedRegion();
}

}  // namespace tessera::agent
