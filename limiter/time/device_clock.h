// SPDX-License-Identifier: Apache-2.0
// Where a device's time is on the monotonic clock, by an event of a known moment for each context.
// One thread at a time; good when it is all zeros. Driver calls are made in the context that is
// current.
#pragma once

#include <cstdint>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {

// ns from one event to another. False: it is not known, as without a current context.
bool Elapsed(CUevent from, CUevent to, int64_t* ns);

class DeviceClock {
 public:
  // For the context, which is current: looks anew where that was long ago.
  void Renew(CUcontext context);
  // When an event of the context was, and by how much that may be another moment. False: it is not
  // known.
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
