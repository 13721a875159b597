// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/stream.h"

namespace tessera::limiter {

bool IsCaptured(const Stream& stream) {
  const Driver& driver = TheDriver();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = stream.per_thread
                              ? driver.cuStreamIsCapturing_ptsz(stream.handle, &status)
                              : driver.cuStreamIsCapturing(stream.handle, &status);
  // A driver before CUDA 10 captures nothing.
  if (result == CUDA_ERROR_NOT_SUPPORTED) return false;
  return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace tessera::limiter
