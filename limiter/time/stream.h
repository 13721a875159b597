// SPDX-License-Identifier: Apache-2.0
// Streams, as programs name them. Any thread.
#pragma once

#include "limiter/driver/driver.h"
#include "limiter/memory/contexts.h"
#include "limiter/time/in_flight.h"

namespace tessera::limiter {

// Its address identifies this thread's default stream.
inline thread_local char own_stream;

// A stream as a program names it. per_thread: a null handle means the thread's own default stream.
struct Stream {
  CUstream handle = nullptr;
  bool per_thread = false;

  static constexpr StreamId kLegacy = 1, kPerThread = 2;

  // True if the program made it. It then belongs to one context, whichever is current.
  bool is_explicit() const { return reinterpret_cast<StreamId>(handle) > kPerThread; }
  // Identifies the stream. A default stream is the current context's.
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

// Makes a stream's context current for its own lifetime. A launch runs in the stream's context,
// which need not be the program's current one.
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

// True if the stream is captured, or if the driver does not say: the launch then does not run now.
bool IsCaptured(const Stream& stream);

}  // namespace tessera::limiter
