// SPDX-License-Identifier: Apache-2.0
// Streams as programs name them. Any thread.
#pragma once

#include "limiter/driver/driver.h"
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
    if (id != kPerThread && !per_thread) [[likely]]
      return kLegacy;
    return id == kLegacy ? kLegacy : reinterpret_cast<StreamId>(&own_stream);
  }
};

// It is being captured, or it cannot be known: what is launched into it does not run now.
bool IsCaptured(const Stream& stream);

}  // namespace tessera::limiter
