// SPDX-License-Identifier: Apache-2.0
#include "cuda/events.h"

#include <unistd.h>

#include <algorithm>

#include "cuda/contexts.h"
#include "cuda/engine.h"
#include "cuda/graphs.h"
#include "cuda/pools.h"

namespace tessera::fake_cuda {
namespace {

constexpr CUresult kCapturedEvent{907};

uint64_t EndOf(const CUevent_st& event) {
  return std::max(event.at.load(), TimeOf(event.context->card, event.mark));
}

void Reach(CUevent_st& event, const CUstream_st& stream) {
  event.at = Now();
  event.mark = stream.tail.load();
}

CUresult Record(CUevent event, CUstream handle) {
  NEED_CONTEXT(context);
  const CUstream stream = StreamOf(handle, context);
  if (stream == nullptr) return WhyNone(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->context != event->context) return CUDA_ERROR_INVALID_HANDLE;
  event->capture = stream->capture.load();
  if (event->capture != nullptr) return CUDA_SUCCESS;
  event->recorded = true;
  const uint64_t recording = ++event->recordings;
  if (!stream->held) {
    Reach(*event, *stream);
    return CUDA_SUCCESS;
  }
  event->mark = kNever;
  Enqueue(stream, [event, stream, recording] {
    if (event->recordings == recording) Reach(*event, *stream);
    return true;
  });
  return CUDA_SUCCESS;
}

// Both events must be recorded and reached.
CUresult Elapsed(float* out, CUevent start, CUevent end) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (start == nullptr || end == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (const CUevent event : {start, end}) {
    const bool timed = (event->flags & CU_EVENT_DISABLE_TIMING) == 0;
    if (!timed || !event->recorded) return CUDA_ERROR_INVALID_HANDLE;
  }
  for (const CUevent event : {start, end}) {
    if (!IsReached(event->context->card, event->mark)) return CUDA_ERROR_NOT_READY;
  }
  const auto ns = static_cast<int64_t>(EndOf(*end) - EndOf(*start));
  *out = static_cast<float>(static_cast<double>(ns) / 1e6);
  return CUDA_SUCCESS;
}

CUresult Destroy(CUevent event) {
  if (Current() == nullptr) return Missing();
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->mark != kNever) delete event;  // else a queued function of the stream still uses it
  return CUDA_SUCCESS;
}

}  // namespace

void AwaitRecorded(const CUevent_st& event) {
  while (event.mark == kNever) usleep(100);
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuEventCreate(CUevent* out, unsigned flags) {
  NEED_CONTEXT(context);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = new CUevent_st(context, flags);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuEventDestroy(CUevent event) {
  return Destroy(event);
}
FAKE_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  return Destroy(event);
}

FAKE_STREAM_FUNCTION(cuEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream)) {
  return Record(event, stream);
}
FAKE_STREAM_FUNCTION(cuEventRecordWithFlags, _ptsz,
                     (CUevent event, CUstream stream, unsigned /*flags*/), (event, stream, 0)) {
  return Record(event, stream);
}

// As with the driver, an event that was never recorded is done.
FAKE_EXPORT CUresult cuEventQuery(CUevent event) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  NEED_NO_CAPTURE();
  if (event->capture != nullptr) return kCapturedEvent;
  return IsReached(event->context->card, event->mark) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
FAKE_EXPORT CUresult cuEventSynchronize(CUevent event) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  NEED_NO_CAPTURE();
  if (event->capture != nullptr) return kCapturedEvent;
  AwaitRecorded(*event);
  AwaitMark(event->context->card, event->mark);
  ReleaseUnused(event->context->device);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuEventElapsedTime(float* out, CUevent start, CUevent end) {
  return Elapsed(out, start, end);
}
FAKE_EXPORT CUresult cuEventElapsedTime_v2(float* out, CUevent start, CUevent end) {
  return Elapsed(out, start, end);
}
