// SPDX-License-Identifier: Apache-2.0
// Launches that are measured on the device: an event before, an event behind, both looked at later
// and never waited for. A process's own; any thread; good when it is all zeros. The driver is only
// called in the way in which it breaks no capture of the program's, the current context stays as it
// is, and no launch ever waits for a lock.
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

// How many launches one that is measured stands for: what they take; and what they wait for others,
// of which those do most that are let run after a while in which the device had nothing of theirs.
struct Weight {
  uint32_t runs;
  uint32_t waits;
};

// What is measured, and what was taken for it.
struct Measurement {
  Cost* cost;
  int place;
  Weight weight;
  int64_t taken;   // ns
  uint64_t start;  // of the monotonic clock
  uint64_t end;
  uint64_t held_up;  // ns of it in which the program may not yet have had it launched
  StreamId stream = 0;
  OwnInFlight::Point launched = {};
  uint32_t measures = 1;  // that became one, for there was no more room
};

class Samples {
 public:
  static constexpr int kNone = -1;
  static constexpr int kNoRoom = -2;  // likewise, for so many are in flight

  // Before the launch. kNone, kNoRoom: it cannot be measured.
  int Begin(const Stream& stream, Cost* cost, int place, const Weight& weight);
  // Behind it; it was launched, and so much was taken for it. False: it cannot be measured.
  bool End(int sample, const Stream& stream, int64_t taken, const OwnInFlight::Point& launched);
  // It was not.
  void Cancel(int sample);
  // Gives those that are done to take(Measured), whatever other streams wait for. What another
  // thread looks at is left to it.
  template <typename Take>
  void Collect(Take take) {
    if (queue_.is_empty() || !TryBegin()) return;
    CollectAll(&Give<Take>, &take);
    Finish();
  }
  // Something is measured in a context and was not taken yet, or another thread looks just now.
  bool IsMeasuring(CUcontext context);
  // Before the driver is asked to end a context, and its events with it: takes what is done, and
  // nobody looks at any until LetGo(). False: who looks at them does not come to an end.
  template <typename Take>
  bool Hold(Take take) {
    if (!AwaitTurn()) return false;
    CollectAll(&Give<Take>, &take);
    return true;
  }
  // It has ended; what was not done before is taken as if it had run until now.
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
    std::atomic<CUcontext> context;  // of the events; null: there are none yet
    CUevent before;
    CUevent behind;
    Cost* cost;
    StreamId stream;
    int64_t taken;
    OwnInFlight::Point launched;
    uint32_t measures;  // that became one
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
  // What follows is of who is alone.
  DeviceClock clock_;
  Cost joined_;                // of measures that became one, of which nothing is learned
  uint16_t firsts_[kSamples];  // of streams, while the line is gone through
  int streams_;
};

}  // namespace tessera::limiter
