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
#include "limiter/time/flight.h"

namespace tessera::limiter {

// Stands for the default stream of this thread.
inline thread_local char own_stream;

// A stream as a program names it; of two kinds, for the default one may be its thread's own.
struct Stream {
  CUstream handle = nullptr;
  bool per_thread = false;

  // Which one it is, of those of its context.
  StreamId id() const {
    constexpr StreamId kLegacy = 1, kPerThread = 2;
    const auto id = reinterpret_cast<StreamId>(handle);
    if (id > kPerThread) return id;
    return id == kPerThread || (id == 0 && per_thread) ? reinterpret_cast<StreamId>(&own_stream)
                                                       : kLegacy;
  }
};

// It is being captured, or it cannot be known: what is launched into it does not run now.
bool IsCaptured(const Stream& stream);

// Driver calls of the limiter's own, which no capture of the program's bars, nor do they break one.
class Relaxed {
 public:
  Relaxed();
  ~Relaxed();
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  CUstreamCaptureMode mode_;
  bool is_changed_;
};

// How many launches one that is measured stands for: what they take; and what they wait for others,
// of which those do most that are let run after a while in which the device had nothing of theirs.
struct Weight {
  uint32_t runs;
  uint32_t waits;
};

// What is measured, and what was taken for it.
struct Measured {
  Cost* cost;
  int place;
  Weight weight;
  int64_t taken;   // ns
  uint64_t start;  // of the monotonic clock
  uint64_t end;
  uint64_t held_up;  // ns of it in which the program may not yet have had it launched
  StreamId stream = 0;
  OwnFlight::Point launched = {};
};

class Samples {
 public:
  static constexpr int kNone = -1;
  static constexpr int kNoRoom = -2;  // likewise, for so many are in flight

  // Before the launch. kNone, kNoRoom: it cannot be measured.
  int Begin(const Stream& stream, Cost* cost, int place, const Weight& weight);
  // Behind it; it was launched, and so much was taken for it. False: it cannot be measured.
  bool End(int sample, const Stream& stream, int64_t taken, const OwnFlight::Point& launched);
  // It was not.
  void Cancel(int sample);
  // Gives those that are done to take(Measured). What another thread looks at is left to it.
  template <typename Take>
  void Collect(Take take) {
    const uint32_t first = first_.load(std::memory_order_relaxed);
    if (first == next_.load(std::memory_order_relaxed) || !TryBegin()) return;
    CollectAll(&Give<Take>, &take);
    Finish();
  }
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
    OwnFlight::Point launched;
    uint64_t launched_at;
    uint64_t held_up;
  };
  // Where the device's time is on the monotonic clock, by an event of a known moment.
  struct Base {
    CUcontext context;
    CUstream stream;
    CUevent event;
    uint64_t time;  // 0: not known
    uint64_t error;
  };
  static constexpr int kSamples = 256;
  static constexpr uint32_t kPlaces = 1024;  // of the line
  static constexpr int kBases = 32;

  using Taker = void (*)(void*, const Measured&);
  template <typename Take>
  static void Give(void* with, const Measured& measured) {
    (*static_cast<Take*>(with))(measured);
  }
  bool AwaitTurn();
  bool TryBegin() { return !is_busy_.exchange(true, std::memory_order_acquire); }
  void Finish() { is_busy_.store(false, std::memory_order_release); }
  Base* BaseOf(CUcontext context);
  void RenewBase(CUcontext context);
  int Own(CUcontext context);
  bool StandInLine(int sample);
  void LeaveLine();
  bool Prepare(Sample* sample, CUcontext context);
  void CollectAll(Taker take, void* with);
  void DropAll(CUcontext context, Taker take, void* with);
  void Read(const Sample& sample,
            Measured* measured);  // with the bases to ourselves, as CollectAll()

  Sample samples_[kSamples];
  Base bases_[kBases];
  // Those in flight, as they were launched: a place holds a sample and 1, or kGone; 0: it is being
  // written. Ends at next_, and only who is alone takes away from its beginning.
  static constexpr uint16_t kGone = UINT16_MAX;
  std::atomic<uint16_t> line_[kPlaces];
  std::atomic<uint32_t> first_;
  std::atomic<uint32_t> next_;
  std::atomic<bool> is_busy_;
};

}  // namespace tessera::limiter
