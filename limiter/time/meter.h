// SPDX-License-Identifier: Apache-2.0
// Every launch passes here: it waits until the container's share of the device's time lets it, and
// what it costs is taken from that share. Any thread; no lock is held while it waits or calls the
// driver.
#pragma once

#include <cstdint>

#include "limiter/time/costs.h"
#include "limiter/time/samples.h"

namespace tessera::limiter {

// One launch, from before the driver is asked until it has answered.
class Launch {
 public:
  // Returns when it may run. `key`: what is launched; `place` tells which device runs
  // it, if it is not the current one.
  Launch(uint64_t key, const Stream& stream, int (*place)(CUstream) = nullptr);
  // The driver's answer, which is handed on.
  CUresult Done(CUresult result);
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

 private:
  void Admit(Cost* cost, bool is_measured);

  const Stream stream_;
  int place_ = -1;
  int sample_ = Samples::kNone;
  int64_t taken_ = 0;
};

// What this key was is no more.
void ForgetCost(uint64_t key);
// The context is about to end.
void ForgetSamples(CUcontext context);

}  // namespace tessera::limiter
