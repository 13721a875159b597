// SPDX-License-Identifier: Apache-2.0
// Measures launches on the device with an event before and one behind each. Both are queried later;
// no thread waits for them. A process's own; any thread; valid when it is all zeros.
//
// Calls of the driver are made so that they break no capture of the program. The current context
// stays as it is. No launch ever waits for a lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/driver/cuda.h"
#include "limiter/time/costs.h"
#include "limiter/time/device_clock.h"
#include "limiter/time/in_flight.h"
#include "limiter/time/launch_queue.h"
#include "limiter/time/stream.h"

namespace tessera::limiter {

// How many launches a measured one stands for: for their cost, and for their waits. A launch that
// was admitted after a pause waits longest for other work, so it may stand for fewer waits.
struct Weight {
  uint32_t runs;
  uint32_t waits;
};

// The result of one measured launch.
struct Measurement {
  Cost* cost;
  int place;
  Weight weight;
  int64_t taken;   // ns
  uint64_t start;  // of the monotonic clock
  uint64_t end;
  uint64_t held_up;  // ns of it in which the program may not have launched yet
  StreamId stream = 0;
  OwnInFlight::Point launched = {};
  uint32_t measures = 1;  // that were merged for lack of room
};

class Samples {
 public:
  static constexpr int kNone = -1;
  static constexpr int kNoRoom = -2;  // too many are in flight

  // Before the launch. kNone, kNoRoom: it cannot be measured.
  int Begin(const Stream& stream, Cost* cost, int place, const Weight& weight);
  // After a successful launch, for which `taken` ns were taken. False: it cannot be measured.
  bool End(int sample, const Stream& stream, int64_t taken, const OwnInFlight::Point& launched);
  // After a failed launch.
  void Cancel(int sample);
  // Passes finished measurements to take(Measurement), whatever other streams wait for. Does
  // nothing if another thread has the turn.
  template <typename Take>
  void Collect(Take take) {
    if (queue_.is_empty() || !TryBegin()) return;
    CollectAll(&Give<Take>, &take);
    Finish();
  }
  // True if a measurement of a context is not taken yet, or another thread has the turn.
  bool IsMeasuring(CUcontext context);
  // Before the driver ends a context with its events: takes finished measurements and keeps the
  // turn until LetGo(). False: the thread that has the turn does not finish.
  template <typename Take>
  bool Hold(Take take) {
    if (!AwaitTurn()) return false;
    CollectAll(&Give<Take>, &take);
    return true;
  }
  // After the context's end: unfinished launches are taken as if they had run until now.
  template <typename Take>
  void Drop(CUcontext context, Take take) {
    DropAll(context, &Give<Take>, &take);
  }
  void LetGo() { Finish(); }

 private:
  enum State : uint32_t { kFree, kOwned };
  struct Sample {
    std::atomic<State> state;
    int place;
    Weight weight;
    std::atomic<CUcontext> context;  // of the events; null: none yet
    CUevent before;
    CUevent behind;
    Cost* cost;
    StreamId stream;
    int64_t taken;
    OwnInFlight::Point launched;
    uint32_t measures;  // that were merged
    uint64_t launched_at;
    uint64_t held_up;
  };
  static constexpr int kSamples = LaunchQueue::kMost;
  using Taker = void (*)(void*, const Measurement&);
  template <typename Take>
  static void Give(void* with, const Measurement& measured) {
    (*static_cast<Take*>(with))(measured);
  }
  bool AwaitTurn();
  bool TryBegin() { return !is_busy_.exchange(true, std::memory_order_acquire); }
  void Finish() { is_busy_.store(false, std::memory_order_release); }
  int Own(CUcontext context);
  bool MakeRoom();
  void Join(Sample* first, Sample* second);
  bool Prepare(Sample* sample, CUcontext context);
  int FirstOf(const Sample& sample) const;
  void NoteFirst(int at);
  void CollectAll(Taker take, void* with);
  void DropAll(CUcontext context, Taker take, void* with);
  void Read(const Sample& sample, Measurement* measured);

  Sample samples_[kSamples];
  LaunchQueue queue_;
  std::atomic<bool> is_busy_;
  // Guarded by is_busy_, the turn.
  DeviceClock clock_;
  Cost joined_;                // of merged measurements, from which no cost is learned
  uint16_t firsts_[kSamples];  // first samples of streams, while the queue is visited
  int streams_;
};

}  // namespace tessera::limiter
