// SPDX-License-Identifier: Apache-2.0
// Places a device's time on the monotonic clock, by an event of known time in each context. One
// thread at a time; valid when it is all zeros. Driver calls are made in the current context.
#pragma once

#include <cstdint>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {

// ns from one event to another. False: not known, e.g. without a current context.
bool Elapsed(CUevent from, CUevent to, int64_t* ns);

class DeviceClock {
 public:
  // Renews the base of the current context if it is old.
  void Renew(CUcontext context);
  // Time of an event of the context, and its error in ns. False: not known.
  bool TimeOf(CUcontext context, CUevent event, uint64_t* time, uint64_t* error);
  // The context has ended, and its events with it.
  void Forget(CUcontext context);

 private:
  struct Base {
    CUcontext context;
    CUstream stream;
    CUevent event;
    uint64_t time;  // 0: not known
    uint64_t error;
  };
  static constexpr int kBases = 32;

  Base* BaseOf(CUcontext context);

  Base bases_[kBases];
};

}  // namespace tessera::limiter
