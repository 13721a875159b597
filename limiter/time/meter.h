// SPDX-License-Identifier: Apache-2.0
// Every launch passes here. It waits until the container's share of the device's time admits it,
// and its cost is taken from that share. Any thread; no lock is held during a wait or a call of the
// driver.
//
// The kernels of a collective wait for each other on several devices. A kernel that is delayed
// delays the others, which occupy their devices. So only the first of consecutive collective
// kernels waits, for a moment at most, and their cost is owed.
#pragma once

#include <cstdint>

#include "limiter/time/costs.h"
#include "limiter/time/monitor.h"
#include "limiter/time/samples.h"

namespace tessera::limiter {

// What is launched: its key, and the kernel, if it is one.
struct LaunchedWork {
  uint64_t key;
  CUfunction function = nullptr;
};

// One launch, from before the driver is called until it has answered. One thread.
class Launch {
 public:
  explicit Launch(const Stream& stream) : stream_(stream) {}
  // How the launch is measured. cost null: not limited; weight.runs 0: only noted as unmeasured.
  struct Measuring {
    Cost* cost;
    Weight weight;
  };

  // True if it must be admitted first. Call this and all else in the context of the stream.
  bool IsLimited();
  // IsLimited() for a launch at a given place, whose device need not be the stream's.
  bool IsLimitedAt(int place);
  // Waits until the launch may run.
  Measuring Admit(const LaunchedWork& what);
  // Call right before the driver.
  void Begin(const Measuring& measuring) {
    if (measuring.cost != nullptr) [[unlikely]]
      Note(measuring);
  }
  // Takes the driver's answer and returns it.
  CUresult Done(CUresult result) {
    if (taken_ != 0) [[unlikely]]
      Finish(result == CUDA_SUCCESS);
    return result;
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

 private:
  bool Pass(SinceLast when);
  void Look();
  void Note(const Measuring& measuring);
  bool Measure(Cost* cost, const Weight& weight);
  void Finish(bool is_launched);

  const Stream& stream_;  // the caller's
  int place_ = -1;
  bool is_elsewhere_ = false;  // on another device than the stream's
  int sample_ = Samples::kNone;
  int64_t taken_ = 0;            // ns; 0: Done() has no work
  OwnInFlight::Point launched_;  // if it is measured
};

// A call of the program that waits for launches, or asks whether they are done. Its result is used
// at once: the process may launch no more for a long time, or ever.
class Wait {
 public:
  explicit Wait(const Stream& stream);
  // For a stream of the current context; 0: for an unknown stream.
  explicit Wait(StreamId stream);
  // Takes the driver's answer and returns it.
  CUresult Done(CUresult result) {
    if (place_ >= 0 && result == CUDA_SUCCESS) [[unlikely]]
      Finish();
    return result;
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

 private:
  void Begin();
  void Finish();

  const StreamId stream_;
  int place_ = -1;  // of the device; -1: no flight to end
  OwnInFlight::Point began_;
};

// The kernel or graph of this key is gone.
void ForgetCost(uint64_t key);

// Returns when the measured launches of a context are done, or after 5 s, since a stream may wait
// for a later call of the program.
void AwaitMeasures(CUcontext context);

// Around a driver call that may end a context. Launches in it are charged, whether they were done
// before or not. One thread.
class ContextEnd {
 public:
  explicit ContextEnd(CUcontext context);
  ~ContextEnd();
  void Ended();  // the context ended
  ContextEnd(const ContextEnd&) = delete;
  ContextEnd& operator=(const ContextEnd&) = delete;

 private:
  const CUcontext context_;
  bool holds_ = false;
  bool holds_usage_samples_ = false;
};

}  // namespace tessera::limiter
