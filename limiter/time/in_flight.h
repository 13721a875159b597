// SPDX-License-Identifier: Apache-2.0
// A process's launches that are not known to be done: its flight on a device. A living process
// measures them. After its death no process can, so it is charged for a busy device from the last
// measured moment until its end was seen. The driver ends a dead process's work with it.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/contract.h"

namespace tessera::limiter {

// ns. The end of a process may be seen long after it; the charge is limited to this.
inline constexpr int64_t kMostAtEnd = 5'000'000'000;  // ns

// A stream, whatever its context; never 0.
using StreamId = uintptr_t;
inline constexpr StreamId kAllStreams = UINTPTR_MAX;

// Charges a dead process's flight on a device. Only for the claimer of its slot. If the claimer is
// killed, the next one continues; the flight is charged once.
//
// `began`: start of the container, 0 if not known. An older flight ended with the region's former
// container. The device has done other work since, so that flight is not charged.
void ChargeEnd(Region* region, uint32_t slot, int place, uint64_t now, uint64_t began);

// A process's view of its flight on one device; valid when it is all zeros. Any thread.
//
// A measured launch is done when it is read. The unmeasured launches behind the last measured one
// are the tail. A tail in one stream is done when the stream is, or when a later launch in that
// stream was measured. A tail in several streams is done when the context is.
class OwnInFlight {
 public:
  // Before an unmeasured launch. True: the tail includes this stream already, so the launch need
  // not be noted.
  bool IsNoted(StreamId stream) const {
    const StreamId noted = noted_.load(std::memory_order_relaxed);
    return noted == stream || noted == kAllStreams;
  }
  void NoteUnmeasured(StreamId stream, InFlight* shown);

  // For a launch in a stream of another device: its end shows no other launch done.
  static constexpr uint64_t kBehindNone = UINT64_MAX;
  // A moment: the count of tail launches, and the ns taken, until then.
  struct Point {
    uint64_t launches;
    int64_t taken;
  };
  // Before a measured launch, whose cost was taken. Its result goes to Read().
  Point NoteMeasured(InFlight* shown);
  // The launch was read, or it never ran.
  void Read(StreamId stream, const Point& launched, InFlight* shown, uint32_t launches = 1);

  // `ns` were taken for launches, or given back if negative.
  void AddTaken(int64_t ns, InFlight* shown) {
    taken_.fetch_add(ns, std::memory_order_relaxed);
    __atomic_fetch_add(&shown->taken, ns, __ATOMIC_RELAXED);
  }

  // Before a wait for a stream or for all streams, and after its end.
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

  std::atomic<StreamId> noted_;  // the tail's, since the last measured launch or wait
  std::atomic<StreamId> tail_;   // 0: no tail
  std::atomic<uint64_t> tail_count_;
  std::atomic<int64_t> measured_;  // launches that are not read yet
  std::atomic<int64_t> taken_;     // ns, the sum
  std::atomic<int64_t> settled_;   // ns of it for launches that are done
};

}  // namespace tessera::limiter
