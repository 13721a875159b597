// SPDX-License-Identifier: Apache-2.0
#include "kubelet/embedded/rate_limit.h"

#include <algorithm>

namespace tessera::kubelet::embedded {

RateLimit::RateLimit(double per_second, double burst)
    : per_second_(per_second), burst_(burst), tokens_(burst) {}

bool RateLimit::Allow(Steady now) {
  std::chrono::duration<double> since = now - filled_;
  tokens_ = std::min(burst_, tokens_ + since.count() * per_second_);
  filled_ = now;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

}  // namespace tessera::kubelet::embedded
