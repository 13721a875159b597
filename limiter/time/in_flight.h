// SPDX-License-Identifier: Apache-2.0
// What a process launched and is not known to be done. While it lives, it measures that; after its
// end nobody can, and it is charged for having kept the device busy from the last moment that
// somebody measured until its end was seen. The driver ends with a process what it left running.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/contract.h"

namespace tessera::limiter {

// The end of a process may be seen long after it; more than that is not charged for it.
inline constexpr int64_t kMostAtEnd = 5'000'000'000;  // ns

// A stream, whatever its context; never 0.
using StreamId = uintptr_t;
inline constexpr StreamId kAllStreams = UINTPTR_MAX;

// Charges what a process of the region left behind on a device. Only for who claimed its slot; who
// is killed over it leaves nothing half done: it is charged once, whoever comes next. `began`: when
// the container did, 0 if nobody knows; what was in flight before ended with the container that had
// the region before, and the device had other work since: it costs the one that starts anew
// nothing.
void ChargeEnd(Region* region, uint32_t slot, int place, uint64_t now, uint64_t began);

// A process's own view of one device; good when it is all zeros. Any thread.
//
// Launches that are measured are known to be done when they are read. Of those that are not, the
// tail behind the last measured one, only streams tell: it is done when its stream is, or when a
// launch behind it in its stream was measured. A tail in several streams is done when the context
// is.
class OwnInFlight {
 public:
  // Before a launch that is not measured: whether nothing of it need be noted, for another one was
  // since the last measured launch.
  bool IsNoted(StreamId stream) const {
    const StreamId noted = noted_.load(std::memory_order_relaxed);
    return noted == stream || noted == kAllStreams;
  }
  void NoteUnmeasured(StreamId stream, InFlight* shown);

  // Of a launch in a stream of another device: no other one is done for it is.
  static constexpr uint64_t kBehindNone = UINT64_MAX;
  // Up to a moment: of launches, and of what was taken for them.
  struct Point {
    uint64_t launches;
    int64_t taken;
  };
  // Before one that is, for which its cost was taken; and when it was read, with what that told.
  Point NoteMeasured(InFlight* shown);
  // It was read, or was not launched at all.
  void Read(StreamId stream, const Point& launched, InFlight* shown, uint32_t launches = 1);

  // So much was taken for launches, or given back.
  void AddTaken(int64_t ns, InFlight* shown) {
    taken_.fetch_add(ns, std::memory_order_relaxed);
    __atomic_fetch_add(&shown->taken, ns, __ATOMIC_RELAXED);
  }

  // Before a wait for a stream, or for all, and once it has come to its end.
  Point BeginWait() {
    noted_.store(0, std::memory_order_relaxed);
    return CurrentPoint();
  }
  void EndWait(StreamId stream, const Point& began, InFlight* shown);

 private:
  Point CurrentPoint() const {
    return {tail_count_.load(std::memory_order_relaxed), taken_.load(std::memory_order_relaxed)};
  }
  void BeginInFlight(InFlight* shown);
  void EndTail(StreamId tail, uint64_t launches);
  void EndIfDone(const Point& until, InFlight* shown);
  void SettleTaken(int64_t taken, InFlight* shown);

  std::atomic<StreamId> noted_;  // of the tail, since the last measured launch or wait
  std::atomic<StreamId> tail_;   // 0: there is none
  std::atomic<uint64_t> tail_count_;
  std::atomic<int64_t> measured_;  // launches that are not read yet
  std::atomic<int64_t> taken_;     // in all
  std::atomic<int64_t> settled_;   // of it, for what is done
};

}  // namespace tessera::limiter
