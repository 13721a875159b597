// SPDX-License-Identifier: Apache-2.0
// Copies and fills. The arguments are checked. Nothing is copied, because device memory has no
// content here. They are done when the call returns, and take no time of the card.
#include "cuda/contexts.h"
#include "cuda/streams.h"

namespace tessera::fake_cuda {
namespace {

// A synchronous copy waits for the context's work.
CUresult Copy(bool valid) {
  NEED_CONTEXT(context);
  if (!valid) return CUDA_ERROR_INVALID_VALUE;
  NEED_NO_CAPTURE();
  AwaitContext(context);
  return CUDA_SUCCESS;
}

CUresult CopyIn(CUstream handle, bool valid) {
  NEED_CONTEXT(context);
  if (StreamOf(handle, context) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_STREAM_FUNCTION(cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t), (to, from, 0)) {
  return Copy(to != 0 && from != 0);
}
FAKE_STREAM_FUNCTION(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void* from, size_t),
                     (to, from, 0)) {
  return Copy(to != 0 && from != nullptr);
}
FAKE_STREAM_FUNCTION(cuMemcpyDtoH_v2, _ptds, (void* to, CUdeviceptr from, size_t), (to, from, 0)) {
  return Copy(to != nullptr && from != 0);
}
// CUDA 2's function with 32-bit numbers.
FAKE_EXPORT CUresult cuMemcpyDtoH(void* to, CUdeviceptr_v1 from, unsigned /*bytes*/) {
  return Copy(to != nullptr && from != 0);
}
FAKE_STREAM_FUNCTION(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t),
                     (to, from, 0)) {
  return Copy(to != 0 && from != 0);
}
FAKE_STREAM_FUNCTION(cuMemsetD8_v2, _ptds, (CUdeviceptr to, unsigned char, size_t), (to, 0, 0)) {
  return Copy(to != 0);
}
FAKE_STREAM_FUNCTION(cuMemsetD32_v2, _ptds, (CUdeviceptr to, unsigned, size_t), (to, 0, 0)) {
  return Copy(to != 0);
}

FAKE_STREAM_FUNCTION(cuMemcpyAsync, _ptsz,
                     (CUdeviceptr to, CUdeviceptr from, size_t, CUstream stream),
                     (to, from, 0, stream)) {
  return CopyIn(stream, to != 0 && from != 0);
}
FAKE_STREAM_FUNCTION(cuMemcpyHtoDAsync_v2, _ptsz,
                     (CUdeviceptr to, const void* from, size_t, CUstream stream),
                     (to, from, 0, stream)) {
  return CopyIn(stream, to != 0 && from != nullptr);
}
FAKE_STREAM_FUNCTION(cuMemcpyDtoHAsync_v2, _ptsz,
                     (void* to, CUdeviceptr from, size_t, CUstream stream), (to, from, 0, stream)) {
  return CopyIn(stream, to != nullptr && from != 0);
}
FAKE_STREAM_FUNCTION(cuMemcpyDtoDAsync_v2, _ptsz,
                     (CUdeviceptr to, CUdeviceptr from, size_t, CUstream stream),
                     (to, from, 0, stream)) {
  return CopyIn(stream, to != 0 && from != 0);
}
FAKE_STREAM_FUNCTION(cuMemsetD8Async, _ptsz,
                     (CUdeviceptr to, unsigned char, size_t, CUstream stream), (to, 0, 0, stream)) {
  return CopyIn(stream, to != 0);
}
FAKE_STREAM_FUNCTION(cuMemsetD32Async, _ptsz, (CUdeviceptr to, unsigned, size_t, CUstream stream),
                     (to, 0, 0, stream)) {
  return CopyIn(stream, to != 0);
}
