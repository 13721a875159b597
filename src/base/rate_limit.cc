// SPDX-License-Identifier: Apache-2.0
#include "base/rate_limit.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr double kLongestMs = 86'400'000;

}  // namespace

RateLimit::RateLimit(double per_second, double burst)
    : per_second_(per_second), burst_(burst), tokens_(burst) {}

double RateLimit::Tokens(Steady now) const {
  const std::chrono::duration<double> since = now - filled_;
  return std::min(burst_, tokens_ + since.count() * per_second_);
}

bool RateLimit::Allow(Steady now) {
  tokens_ = Tokens(now);
  filled_ = now;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

Duration RateLimit::Until(Steady now) const {
  const double missing = 1 - Tokens(now);
  if (missing <= 0) return Duration(0);
  return Duration(
      static_cast<int64_t>(std::ceil(std::min(kLongestMs, missing * 1000 / per_second_))));
}

}  // namespace tessera
