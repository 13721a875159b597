// SPDX-License-Identifier: Apache-2.0
// A token bucket: so many at once, and so many a second on average. Guarded by its owner.
#pragma once

#include "base/clock.h"

namespace tessera {

class RateLimit {
 public:
  RateLimit(double per_second, double burst);
  // Takes a token; false when there is none.
  bool Allow(Steady now);
  // From `now` to the moment when there is one, where nobody takes it before; a day at most.
  Duration Until(Steady now) const;

 private:
  double Tokens(Steady now) const;

  const double per_second_;
  const double burst_;
  double tokens_;
  Steady filled_{};
};

}  // namespace tessera
