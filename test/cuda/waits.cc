// SPDX-License-Identifier: Apache-2.0
// Waits for all that is in a context.
#include <vector>

#include "cuda/contexts.h"

namespace tessera::fake_cuda {
namespace {

// Of a green one: what is in its own streams, and in the default one that it has of the primary
// context.
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
// Null: the current one. CUDA 13.
FAKE_EXPORT CUresult cuCtxSynchronize_v2(CUcontext context) {
  if (context == nullptr) return cuCtxSynchronize();
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  return context->active ? Synchronize(context) : CUDA_ERROR_INVALID_CONTEXT;
}
