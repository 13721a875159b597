// SPDX-License-Identifier: Apache-2.0
#include "cuda/streams.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "cuda/engine.h"
#include "cuda/events.h"
#include "cuda/graphs.h"
#include "cuda/pools.h"

namespace tessera::fake_cuda {
namespace {

// Streams stay when they are destroyed, so that a handle of one is told from another's.
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

CUstream New(CUcontext context, unsigned flags, int priority) {
  Streams& streams = TheStreams();
  const std::lock_guard lock(streams.mutex);
  return &streams.all.emplace_back(context, flags, priority);
}

CUstream OwnOfThread(CUcontext context) {
  thread_local std::map<CUcontext, CUstream> own;
  CUstream& stream = own[context];
  if (stream == nullptr || !stream->alive) stream = New(context, 0, 0);
  return stream;
}

// All that was put into the context's streams until now.
Mark TailOf(CUcontext context) {
  Mark tail = context->legacy.tail;
  ForEachOf(context, [&](CUstream_st& stream) { tail = std::max(tail, stream.tail.load()); });
  return tail;
}

CUresult Create(CUstream* out, unsigned flags, int priority) {
  NEED_CONTEXT(context);
  constexpr unsigned kNonBlocking = 1;
  if (out == nullptr || (flags & ~kNonBlocking) != 0) return CUDA_ERROR_INVALID_VALUE;
  *out = New(context, flags, std::clamp(priority, -5, 0));
  return CUDA_SUCCESS;
}

CUresult Destroy(CUstream stream) {
  if (Current() == nullptr) return Missing();
  if (stream == nullptr || stream == kLegacyStream || stream == kPerThreadStream) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  return stream->alive.exchange(false) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// A function of the driver's that a stream calls; it may be called on any thread.
void CallLater(CUstream stream, std::function<void()> call) {
  const Mark tail = stream->tail;
  const unsigned card = stream->context->card;
  std::thread([tail, card, call = std::move(call)] {
    AwaitMark(card, tail);
    call();
  }).detach();
}

}  // namespace

CUstream StreamOf(CUstream handle, CUcontext context) {
  if (handle == nullptr) handle = t_per_thread ? kPerThreadStream : kLegacyStream;
  if (handle == kLegacyStream) return &context->legacy;
  if (handle == kPerThreadStream) return OwnOfThread(context);
  return handle->alive && handle->context->active ? handle : nullptr;
}

bool IsIdle(const CUstream_st& stream) {
  return IsReached(stream.context->card, stream.tail);
}
void Await(const CUstream_st& stream) {
  AwaitMark(stream.context->card, stream.tail);
  ReleaseUnused(stream.context->device);
}
void AwaitContext(CUcontext context) {
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

// The stream of a handle, in the functions below.
// NOLINTBEGIN(bugprone-macro-parentheses): it is a name
#define NEED_STREAM(stream, handle)                  \
  NEED_CONTEXT(context);                             \
  const CUstream stream = StreamOf(handle, context); \
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE
// NOLINTEND(bugprone-macro-parentheses)

// A wait for a stream that is captured breaks the capture.
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
  *out = stream->context;
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
  const Mark mark = event->mark;
  if (mark > stream->tail) stream->tail = mark;
  return CUDA_SUCCESS;
}

FAKE_STREAM_FUNCTION(cuLaunchHostFunc, _ptsz, (CUstream handle, void (*call)(void*), void* data),
                     (handle, call, data)) {
  NEED_STREAM(stream, handle);
  if (call == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture != nullptr) return CUDA_SUCCESS;  // its time is none of the card's
  CallLater(stream, [call, data] { call(data); });
  return CUDA_SUCCESS;
}
FAKE_STREAM_FUNCTION(cuStreamAddCallback, _ptsz,
                     (CUstream handle, void (*call)(CUstream, CUresult, void*), void* data,
                      unsigned /*flags*/),
                     (handle, call, data, 0)) {
  NEED_STREAM(stream, handle);
  if (call == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NEED_NO_CAPTURE_OF(stream);
  CallLater(stream, [handle, call, data] { call(handle, CUDA_SUCCESS, data); });
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuCtxSynchronize() {
  NEED_CONTEXT(context);
  NEED_NO_CAPTURE();
  AwaitContext(context);
  return CUDA_SUCCESS;
}
