// SPDX-License-Identifier: Apache-2.0
// Waits for all work of a context.
#include <vector>

#include "cuda/contexts.h"

namespace tessera::fake_cuda {
namespace {

// Waits for a green context's own streams, and for the primary context's default stream, which it
// uses.
void AwaitGreen(CUcontext green) {
  std::vector<CUstream> streams{&green->owner->legacy};
  ForEachOfGreen(green, [&](CUstream_st& stream) { streams.push_back(&stream); });
  for (const CUstream stream : streams) Await(*stream);
}

CUresult Synchronize(CUcontext context) {
  NEED_NO_CAPTURE();
  if (context->owner == context) {
    AwaitContext(context);
  } else {
    AwaitGreen(context);
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuCtxSynchronize() {
  return Current() == nullptr ? Missing() : Synchronize(t_context);
}
// CUDA 13's. Null: the current context.
FAKE_EXPORT CUresult cuCtxSynchronize_v2(CUcontext context) {
  if (context == nullptr) return cuCtxSynchronize();
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  return context->active ? Synchronize(context) : CUDA_ERROR_INVALID_CONTEXT;
}
