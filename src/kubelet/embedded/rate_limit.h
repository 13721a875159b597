// SPDX-License-Identifier: Apache-2.0
// A token bucket, as kubelet puts before pod-resources. Guarded by its owner.
#pragma once

#include "base/clock.h"

namespace tessera::kubelet::embedded {

class RateLimit {
 public:
  RateLimit(double per_second, double burst);
  // Takes a token; false when there is none.
  bool Allow(Steady now);

 private:
  const double per_second_;
  const double burst_;
  double tokens_;
  Steady filled_{};
};

}  // namespace tessera::kubelet::embedded
