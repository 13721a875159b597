// SPDX-License-Identifier: Apache-2.0
// Every launch passes here: it waits until the container's share of the device's time lets it, and
// what it costs is taken from that share. Any thread; no lock is held while it waits or calls the
// driver.
//
// Kernels of collectives wait for each other on several devices: one that is held up holds the
// others up, which run meanwhile. So of those that follow each other the first one waits, for a
// moment at most, and what they cost is owed.
#pragma once

#include <cstdint>

#include "limiter/time/costs.h"
#include "limiter/time/monitor.h"
#include "limiter/time/samples.h"

namespace tessera::limiter {

// What is launched: what it is known by, and the kernel, if it is one.
struct LaunchedWork {
  uint64_t key;
  CUfunction function = nullptr;
};

// One launch, from before the driver is asked until it has answered.
class Launch {
 public:
  explicit Launch(const Stream& stream) : stream_(stream) {}
  // How it is to be measured. No cost: there is nothing to be done; no runs: it only is noted.
  struct Measuring {
    Cost* cost;
    Weight weight;
  };

  // Whether it has to be admitted before it may run; in the context of its stream, as all else.
  bool IsLimited();
  // Likewise, of a launch that runs at a place of the accounting, whose device need not be the
  // stream's.
  bool IsLimitedAt(int place);
  // Returns when it may run.
  Measuring Admit(const LaunchedWork& what);
  // Right before the driver is asked.
  void Begin(const Measuring& measuring) {
    if (measuring.cost != nullptr) [[unlikely]]
      Note(measuring);
  }
  // The driver's answer, which is handed on.
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
  bool is_elsewhere_ = false;  // than the stream is
  int sample_ = Samples::kNone;
  int64_t taken_ = 0;            // 0: nothing is to be done behind it
  OwnInFlight::Point launched_;  // where it is measured
};

// A call of the program's that waits for launches, or asks whether they are done: what it told is
// made use of, where the process may launch nothing more for long, or ever.
class Wait {
 public:
  explicit Wait(const Stream& stream);
  // Of the current context; 0: for something of a stream that is not known.
  explicit Wait(StreamId stream);
  // The driver's answer, which is handed on.
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
  int place_ = -1;  // of the device; -1: there is nothing to be told of
  OwnInFlight::Point began_;
};

// What this key was is no more.
void ForgetCost(uint64_t key);

// Returns once what is measured in a context is done, or after 5 s: a stream of it may wait for
// what the program does later.
void AwaitMeasures(CUcontext context);

// A call of the driver that may end a context: what ran in it is charged, whether it was done
// before or not.
class ContextEnd {
 public:
  explicit ContextEnd(CUcontext context);
  ~ContextEnd();
  void Ended();  // it did
  ContextEnd(const ContextEnd&) = delete;
  ContextEnd& operator=(const ContextEnd&) = delete;

 private:
  const CUcontext context_;
  bool holds_ = false;
  bool holds_usage_samples_ = false;
};

}  // namespace tessera::limiter
