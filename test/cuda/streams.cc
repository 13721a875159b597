// SPDX-License-Identifier: Apache-2.0
#include "cuda/streams.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "cuda/engine.h"
#include "cuda/events.h"
#include "cuda/graphs.h"
#include "cuda/pools.h"

namespace tessera::fake_cuda {
namespace {

// A destroyed stream stays in memory, so that no other stream gets its handle.
struct Streams {
  std::mutex mutex;
  std::deque<CUstream_st> all;
};
Streams& TheStreams() {
  static auto* const streams = new Streams();
  return *streams;
}

template <class Each>
void ForEachOf(CUcontext context, const Each& each) {
  Streams& streams = TheStreams();
  const std::lock_guard lock(streams.mutex);
  for (CUstream_st& stream : streams.all) {
    if (stream.context == context && stream.alive) each(stream);
  }
}

constexpr CUresult kStreamDetached{917};

bool IsDetached(const CUstream_st& stream) {
  return stream.green != nullptr && !stream.green->active;
}

CUstream OwnOfThread(CUcontext context) {
  thread_local std::map<CUcontext, CUstream> own;
  CUstream& stream = own[context];
  if (stream == nullptr || !stream->alive) stream = NewStream(context, 0, 0, nullptr);
  return stream;
}

// The end of all work in the context's streams.
Mark TailOf(CUcontext context) {
  Mark tail = context->legacy.tail;
  ForEachOf(context, [&](CUstream_st& stream) { tail = std::max(tail, stream.tail.load()); });
  return tail;
}

CUresult Create(CUstream* out, unsigned flags, int priority) {
  NEED_CONTEXT(context);
  constexpr unsigned kNonBlocking = 1;
  if (out == nullptr || (flags & ~kNonBlocking) != 0) return CUDA_ERROR_INVALID_VALUE;
  *out = NewStream(context, flags, priority, t_context == context ? nullptr : t_context);
  return CUDA_SUCCESS;
}

CUresult Destroy(CUstream stream) {
  if (Current() == nullptr) return Missing();
  if (stream == nullptr || stream == kLegacyStream || stream == kPerThreadStream) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  return stream->alive.exchange(false) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// Runs the queued work until one function makes the stream wait again. `held` becomes false only
// with the mutex and an empty queue. So work of a racing Enqueue can neither be lost nor overtake.
void LetGo(CUstream stream) {
  for (;;) {
    std::function<bool()> next;
    {
      const std::lock_guard lock(stream->mutex);
      stream->held = !stream->behind.empty();
      if (!stream->held) return;
      next = std::move(stream->behind.front());
      stream->behind.pop_front();
    }
    if (!next()) return;
  }
}

// Puts a host function into a stream. A thread of its own waits for the stream's earlier work,
// calls the function, and then lets the stream go on.
void CallIn(CUstream stream, std::function<void()> call) {
  Enqueue(stream, [stream, call = std::move(call)] {
    stream->held = true;
    std::thread([stream, tail = stream->tail.load(), call] {
      AwaitMark(stream->context->card, tail);
      call();
      LetGo(stream);
    }).detach();
    return false;
  });
}

void AwaitLetGo(const CUstream_st& stream) {
  while (stream.held) usleep(100);
}

}  // namespace

CUstream StreamOf(CUstream handle, CUcontext context) {
  if (handle == nullptr) handle = t_per_thread ? kPerThreadStream : kLegacyStream;
  if (handle == kLegacyStream) return &context->legacy;
  if (handle == kPerThreadStream) return OwnOfThread(context);
  return handle->alive && handle->context->active && !IsDetached(*handle) ? handle : nullptr;
}

CUresult WhyNone(CUstream handle) {
  const bool is_own = handle != nullptr && handle != kLegacyStream && handle != kPerThreadStream;
  return is_own && handle->alive && IsDetached(*handle) ? kStreamDetached
                                                        : CUDA_ERROR_INVALID_HANDLE;
}

CUstream NewStream(CUcontext context, unsigned flags, int priority, CUcontext green) {
  Streams& streams = TheStreams();
  const std::lock_guard lock(streams.mutex);
  const CUstream stream =
      &streams.all.emplace_back(context, flags, std::clamp(priority, -5, 0), green);
  // cuGreenCtxWaitEvent applies to streams made later too.
  if (green != nullptr) stream->tail = green->legacy.tail.load();
  return stream;
}

void ForEachOfGreen(CUcontext green, const std::function<void(CUstream_st&)>& each) {
  ForEachOf(green->owner, [&](CUstream_st& stream) {
    if (stream.green == green) each(stream);
  });
}

void DetachStreamsOf(CUcontext green) {
  ForEachOfGreen(green, [](CUstream_st& stream) {
    if (Capture* capture = stream.capture) capture->broken = true;
  });
}

void Enqueue(CUstream stream, std::function<bool()> put) {
  {
    const std::lock_guard lock(stream->mutex);
    if (stream->held) return stream->behind.push_back(std::move(put));
  }
  put();
}

bool IsIdle(const CUstream_st& stream) {
  return !stream.held && IsReached(stream.context->card, stream.tail);
}
void Await(const CUstream_st& stream) {
  AwaitLetGo(stream);
  AwaitMark(stream.context->card, stream.tail);
  ReleaseUnused(stream.context->device);
}
void AwaitContext(CUcontext context) {
  AwaitLetGo(context->legacy);
  std::vector<CUstream> streams;
  ForEachOf(context, [&](CUstream_st& stream) { streams.push_back(&stream); });
  for (const CUstream stream : streams) AwaitLetGo(*stream);
  AwaitMark(context->card, TailOf(context));
  ReleaseUnused(context->device);
}
void DropStreamsOf(CUcontext context) {
  ForEachOf(context, [](CUstream_st& stream) { stream.alive = false; });
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuStreamCreate(CUstream* out, unsigned flags) {
  return Create(out, flags, 0);
}
FAKE_EXPORT CUresult cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
  return Create(out, flags, priority);
}
FAKE_EXPORT CUresult cuStreamDestroy(CUstream stream) {
  return Destroy(stream);
}
FAKE_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  return Destroy(stream);
}

// Declares the stream of a handle, in the functions below.
// NOLINTBEGIN(bugprone-macro-parentheses): it is a name
#define NEED_STREAM(stream, handle)                  \
  NEED_CONTEXT(context);                             \
  const CUstream stream = StreamOf(handle, context); \
  if (stream == nullptr) return WhyNone(handle)
// NOLINTEND(bugprone-macro-parentheses)

// Refuses a wait for a captured stream. It invalidates the capture, as with the driver.
#define NEED_NO_CAPTURE_OF(stream)                  \
  do {                                              \
    if (Capture* capture = (stream)->capture) {     \
      capture->broken = true;                       \
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; \
    }                                               \
    NEED_NO_CAPTURE();                              \
  } while (false)

FAKE_STREAM_FUNCTION(cuStreamQuery, _ptsz, (CUstream handle), (handle)) {
  NEED_STREAM(stream, handle);
  NEED_NO_CAPTURE_OF(stream);
  return IsIdle(*stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
FAKE_STREAM_FUNCTION(cuStreamSynchronize, _ptsz, (CUstream handle), (handle)) {
  NEED_STREAM(stream, handle);
  NEED_NO_CAPTURE_OF(stream);
  if (stream == &context->legacy) {
    AwaitContext(context);
  } else {
    Await(*stream);
  }
  return CUDA_SUCCESS;
}
FAKE_STREAM_FUNCTION(cuStreamGetFlags, _ptsz, (CUstream handle, unsigned* out), (handle, out)) {
  NEED_STREAM(stream, handle);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = stream->flags;
  return CUDA_SUCCESS;
}
FAKE_STREAM_FUNCTION(cuStreamGetPriority, _ptsz, (CUstream handle, int* out), (handle, out)) {
  NEED_STREAM(stream, handle);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = stream->priority;
  return CUDA_SUCCESS;
}
FAKE_STREAM_FUNCTION(cuStreamGetCtx, _ptsz, (CUstream handle, CUcontext* out), (handle, out)) {
  NEED_STREAM(stream, handle);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUcontext as_current = stream == handle ? stream->context : t_context;
  *out = stream->green != nullptr ? stream->green : as_current;
  return CUDA_SUCCESS;
}
FAKE_STREAM_FUNCTION(cuStreamGetDevice, _ptsz, (CUstream handle, CUdevice* out), (handle, out)) {
  NEED_STREAM(stream, handle);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = stream->context->device;
  return CUDA_SUCCESS;
}
FAKE_STREAM_FUNCTION(cuStreamGetId, _ptsz, (CUstream handle, unsigned long long* out),
                     (handle, out)) {
  NEED_STREAM(stream, handle);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<uintptr_t>(stream);
  return CUDA_SUCCESS;
}

FAKE_STREAM_FUNCTION(cuStreamWaitEvent, _ptsz, (CUstream handle, CUevent event, unsigned /*flags*/),
                     (handle, event, 0)) {
  NEED_STREAM(stream, handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (Capture* capture = Ongoing(event->capture)) return JoinCapture(*capture, stream);
  if (stream->capture != nullptr) return CUDA_SUCCESS;
  const auto follow = [stream, event] {
    if (event->mark > stream->tail) stream->tail = event->mark.load();
    return true;
  };
  if (event->mark == kNever) {
    CallIn(stream, [event] { AwaitRecorded(*event); });
    Enqueue(stream, follow);
  } else if (stream->held) {
    Enqueue(stream, follow);
  } else {
    follow();
  }
  return CUDA_SUCCESS;
}

FAKE_STREAM_FUNCTION(cuLaunchHostFunc, _ptsz, (CUstream handle, void (*call)(void*), void* data),
                     (handle, call, data)) {
  NEED_STREAM(stream, handle);
  if (call == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture != nullptr) return CUDA_SUCCESS;  // graphs leave out host functions
  CallIn(stream, [call, data] { call(data); });
  return CUDA_SUCCESS;
}
FAKE_STREAM_FUNCTION(cuStreamAddCallback, _ptsz,
                     (CUstream handle, void (*call)(CUstream, CUresult, void*), void* data,
                      unsigned /*flags*/),
                     (handle, call, data, 0)) {
  NEED_STREAM(stream, handle);
  if (call == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NEED_NO_CAPTURE_OF(stream);
  CallIn(stream, [handle, call, data] { call(handle, CUDA_SUCCESS, data); });
  return CUDA_SUCCESS;
}
