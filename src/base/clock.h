// SPDX-License-Identifier: Apache-2.0
// Time as the agent sees it. Steady time is CLOCK_MONOTONIC: it counts from the kernel's boot, so
// a steady time written to disk still means the same to the next process on the same boot.
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

// A clock that moves only when told to. One thread.
class FakeClock : public Clock {
 public:
  Steady Now() const override { return now_; }
  Wall WallNow() const override { return Wall(now_.time_since_epoch()); }
  void Advance(Duration by) { now_ += by; }

 private:
  Steady now_{Duration(1'000'000)};
};

}  // namespace tessera
