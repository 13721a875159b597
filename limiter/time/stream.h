// SPDX-License-Identifier: Apache-2.0
// Streams as programs name them. Any thread.
#pragma once

#include "limiter/driver/driver.h"
#include "limiter/memory/contexts.h"
#include "limiter/time/in_flight.h"

namespace tessera::limiter {

// Stands for the default stream of this thread.
inline thread_local char own_stream;

// A stream as a program names it; of two kinds, for the default one may be its thread's own.
struct Stream {
  CUstream handle = nullptr;
  bool per_thread = false;

  static constexpr StreamId kLegacy = 1, kPerThread = 2;

  // The program made it: it is of one context, whatever is current.
  bool is_explicit() const { return reinterpret_cast<StreamId>(handle) > kPerThread; }
  // Which one it is: one by default is the current context's.
  StreamId id() const {
    const auto id = reinterpret_cast<StreamId>(handle);
    if (id > kPerThread) return id;
    const bool is_legacy = id == kLegacy || (id != kPerThread && !per_thread);
    const StreamId own = is_legacy ? kLegacy : reinterpret_cast<StreamId>(&own_stream);
    if (has_several_contexts.load(std::memory_order_relaxed)) [[unlikely]]
      return OfCurrentContext(own);
    return own;
  }

 private:
  static StreamId OfCurrentContext(StreamId by_default);
};

// The context of a stream is current meanwhile, which need not be the one that the program has:
// what is launched into a stream runs in the stream's.
class StreamContext {
 public:
  explicit StreamContext(const Stream& stream) {
    if (has_several_contexts.load(std::memory_order_relaxed)) [[unlikely]]
      Push(stream);
  }
  ~StreamContext() {
    if (is_pushed_) [[unlikely]]
      Pop();
  }
  StreamContext(const StreamContext&) = delete;
  StreamContext& operator=(const StreamContext&) = delete;

 private:
  void Push(const Stream& stream);
  static void Pop();

  bool is_pushed_ = false;
};

// It is being captured, or it cannot be known: what is launched into it does not run now.
bool IsCaptured(const Stream& stream);

}  // namespace tessera::limiter
