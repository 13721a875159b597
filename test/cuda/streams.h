// SPDX-License-Identifier: Apache-2.0
// Streams: the objects behind CUstream handles, and waits for their work. The driver owns them. Any
// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "cuda/driver.h"

namespace tessera::fake_cuda {
struct Capture;

// A point in the work that one process gave a card. A later mark is greater. The unit is the
// engine's (engine.h): a time, or ns of the card that the process has had.
using Mark = uint64_t;
// The mark of work that the card was not given yet.
inline constexpr Mark kNever = UINT64_MAX / 2;
}  // namespace tessera::fake_cuda

struct CUstream_st {
  CUstream_st(CUcontext of, unsigned with_flags, int with_priority, CUcontext of_green = nullptr)
      : context(of), green(of_green), flags(with_flags), priority(with_priority) {}

  const CUcontext context;
  const CUcontext green;  // the green context that it belongs to; null: none
  const unsigned flags;
  const int priority;
  std::atomic<bool> alive = true;
  std::atomic<tessera::fake_cuda::Mark> tail = 0;               // the end of its work
  std::atomic<tessera::fake_cuda::Capture*> capture = nullptr;  // under way; null: none
  // True while the stream waits for a host function. Later work is then queued in `behind`. A
  // queued function returns false if it makes the stream wait again.
  std::atomic<bool> held = false;
  std::mutex mutex;  // guards `behind`, and its check of `held`
  std::deque<std::function<bool()>> behind;
};

namespace tessera::fake_cuda {

inline const CUstream kLegacyStream = reinterpret_cast<CUstream>(1);
inline const CUstream kPerThreadStream = reinterpret_cast<CUstream>(2);

// The handle's stream, default streams too. Null: the handle is invalid.
CUstream StreamOf(CUstream handle, CUcontext context);
// The error for a handle without a stream.
CUresult WhyNone(CUstream handle);

// `context` owns the stream. `green`: the green context that it belongs to; null: none.
CUstream NewStream(CUcontext context, unsigned flags, int priority, CUcontext green);
// Calls `each` with each living stream of a green context.
void ForEachOfGreen(CUcontext green, const std::function<void(CUstream_st&)>& each);
// Breaks their captures. The streams stay, but can only be destroyed.
void DetachStreamsOf(CUcontext green);

// Calls `put` now, or after the host functions for which the stream waits.
void Enqueue(CUstream stream, std::function<bool()> put);

// True if all work of the stream is done.
bool IsIdle(const CUstream_st& stream);
void Await(const CUstream_st& stream);
void AwaitContext(CUcontext context);

}  // namespace tessera::fake_cuda
