// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/stream.h"

namespace tessera::limiter {

// Odd, so that it never equals a handle.
[[gnu::noinline]] StreamId Stream::OfCurrentContext(StreamId by_default) {
  CUcontext current = nullptr;
  TheDriver().cuCtxGetCurrent(&current);
  return (reinterpret_cast<StreamId>(current) ^ by_default * 0x9e37'79b9'7f4a'7c15) | 1;
}

[[gnu::noinline]] void StreamContext::Push(const Stream& stream) {
  const Driver& driver = TheDriver();
  CUcontext wanted = nullptr, current = nullptr;
  // A default stream is the current context's.
  if (!stream.is_explicit() || driver.cuStreamGetCtx(stream.handle, &wanted) != CUDA_SUCCESS ||
      driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS || OwnerOf(wanted) == OwnerOf(current)) {
    return;
  }
  is_pushed_ = driver.cuCtxPushCurrent_v2(wanted) == CUDA_SUCCESS;
}

[[gnu::noinline]] void StreamContext::Pop() {
  CUcontext popped = nullptr;
  TheDriver().cuCtxPopCurrent_v2(&popped);
}

bool IsCaptured(const Stream& stream) {
  const Driver& driver = TheDriver();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = stream.per_thread
                              ? driver.cuStreamIsCapturing_ptsz(stream.handle, &status)
                              : driver.cuStreamIsCapturing(stream.handle, &status);
  // A driver before CUDA 10 has no captures.
  if (result == CUDA_ERROR_NOT_SUPPORTED) return false;
  return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace tessera::limiter
