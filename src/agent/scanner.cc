// SPDX-License-Identifier: Apache-2.0
#include "agent/scanner.h"

#include <algorithm>

namespace tessera::agent {
namespace {

constexpr Duration kInterval{60'000};  // hot-plug that made no event is found this late
constexpr Duration kRetry{1'000};      // after a scan that failed as a whole; doubles each time
constexpr Duration kLongestRetry{10'000};
constexpr Duration kSettle{20};  // several hot-plug events make one scan

}  // namespace

Scanner::Scanner(os::Loop& loop, os::Workers& workers, std::shared_ptr<Backend> backend, Sink sink)
    : workers_(workers),
      backend_(std::move(backend)),
      sink_(std::move(sink)),
      next_(loop, [this] { Scan(); }),
      mailbox_(loop, *this) {
  Scan();
}

void Scanner::Soon() {
  again_ = true;
  if (!scanning_) next_.Within(kSettle);
}

void Scanner::Scan() {
  next_.Within(kRetry);  // should there be no thread for it
  if (scanning_) return workers_.GoOn();
  scanning_ = true;
  again_ = false;
  workers_.Run([backend = backend_, scanned = mailbox_.Bind(&Scanner::Scanned)] {
    scanned(backend->Scan());
  });
}

void Scanner::Scanned(const Result<std::vector<Device>>& devices) {
  scanning_ = false;
  next_.Cancel();
  sink_(devices);
  const Duration retry = std::clamp(retry_ * 2, kRetry, kLongestRetry);
  retry_ = devices ? Duration(0) : retry;
  next_.Within(again_ ? kSettle : devices ? os::UntilBeat(kInterval) : retry);
}

}  // namespace tessera::agent
