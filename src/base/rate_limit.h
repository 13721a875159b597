// SPDX-License-Identifier: Apache-2.0
// A token bucket with a burst and an average rate. Guarded by its owner.
#pragma once

#include "base/clock.h"

namespace tessera {

class RateLimit {
 public:
  RateLimit(double per_second, double burst);
  // Takes a token. False if there is none.
  bool Allow(Steady now);
  // The time from `now` until a token is available, if no one takes it before; a day at most.
  Duration Until(Steady now) const;

 private:
  double Tokens(Steady now) const;

  const double per_second_;
  const double burst_;
  double tokens_;
  Steady filled_{};
};

}  // namespace tessera
