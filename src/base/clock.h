// SPDX-License-Identifier: Apache-2.0
// Time. Steady is CLOCK_MONOTONIC, which counts from the kernel's boot. A steady time on disk
// therefore stays valid for later processes of the same boot.
#pragma once

#include <chrono>
#include <memory>

namespace tessera {

using Duration = std::chrono::milliseconds;
using Steady = std::chrono::time_point<std::chrono::steady_clock, Duration>;
using Wall = std::chrono::time_point<std::chrono::system_clock, Duration>;

// Any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Steady Now() const = 0;
  virtual Wall WallNow() const = 0;
};

// The machine's clocks. Lives as long as the program.
const Clock& SystemClock();

// A clock that only Advance moves. One thread.
class FakeClock : public Clock {
 public:
  Steady Now() const override { return now_; }
  Wall WallNow() const override { return Wall(now_.time_since_epoch()); }
  void Advance(Duration by) { now_ += by; }

 private:
  Steady now_{Duration(1'000'000)};
};

}  // namespace tessera
