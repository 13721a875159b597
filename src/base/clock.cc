// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

namespace tessera {
namespace {

class RealClock : public Clock {
 public:
  Steady Now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
  }
  Wall WallNow() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
};

}  // namespace

const Clock& SystemClock() {
  // Never destroyed, because threads may use it until the process ends.
  static const RealClock& clock = *new RealClock;
  return clock;
}

}  // namespace tessera
