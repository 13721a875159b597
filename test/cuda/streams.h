// SPDX-License-Identifier: Apache-2.0
// Streams and events, as far as other subjects look at them: when is what was put into a stream
// done. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "cuda/driver.h"

namespace tessera::fake_cuda {
struct Capture;

// How far a card is with what one process gave it. What it counts is the engine's matter
// (engine.h); a later mark is greater.
using Mark = uint64_t;
// Of what the card was not given yet.
inline constexpr Mark kNever = UINT64_MAX / 2;
}  // namespace tessera::fake_cuda

struct CUstream_st {
  CUstream_st(CUcontext of, unsigned with_flags, int with_priority, CUcontext of_green = nullptr)
      : context(of), green(of_green), flags(with_flags), priority(with_priority) {}

  const CUcontext context;
  const CUcontext green;  // that it is of, of those that retain the context; null: of none
  const unsigned flags;
  const int priority;
  std::atomic<bool> alive = true;
  std::atomic<tessera::fake_cuda::Mark> tail = 0;               // of what was put into it
  std::atomic<tessera::fake_cuda::Capture*> capture = nullptr;  // under way
  // It waits for the host: what is put into it meanwhile is behind that, and what of it holds the
  // stream in its turn says false.
  std::atomic<bool> held = false;
  std::mutex mutex;
  std::deque<std::function<bool()>> behind;
};

namespace tessera::fake_cuda {

inline const CUstream kLegacyStream = reinterpret_cast<CUstream>(1);
inline const CUstream kPerThreadStream = reinterpret_cast<CUstream>(2);

// The stream that a handle is of, in a function with or without _ptsz. Null: of none.
CUstream StreamOf(CUstream handle, CUcontext context);
// What is said where it is null.
CUresult WhyNone(CUstream handle);

// One of the context's, or of a green one's that retains it.
CUstream NewStream(CUcontext context, unsigned flags, int priority, CUcontext green);
// Each stream of a green context that was not destroyed.
void ForEachOfGreen(CUcontext green, const std::function<void(CUstream_st&)>& each);
// They stay, of no use but to be destroyed.
void DetachStreamsOf(CUcontext green);

// Now, or once the host has let the stream go.
void Enqueue(CUstream stream, std::function<bool()> put);

// Whether all that was in the stream is done now.
bool IsIdle(const CUstream_st& stream);
void Await(const CUstream_st& stream);
void AwaitContext(CUcontext context);

}  // namespace tessera::fake_cuda
