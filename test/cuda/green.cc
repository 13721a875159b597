// SPDX-License-Identifier: Apache-2.0
// Green contexts: each has a part of a device's multiprocessors, of which nothing is simulated, and
// retains the primary context, which has all that is allocated. It takes a chunk of its own.
#include <map>
#include <mutex>

#include "cuda/contexts.h"

struct CUgreenCtx_st {
  CUcontext context = nullptr;
};

namespace tessera::fake_cuda {
namespace {

struct Greens {
  std::mutex mutex;  // guards what follows
  std::map<CUgreenCtx, std::unique_ptr<CUgreenCtx_st>> all;
};
Greens& TheGreens() {
  static auto* const greens = new Greens();
  return *greens;
}

}  // namespace
}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuGreenCtxCreate(CUgreenCtx* out, CUdevResourceDesc resources, CUdevice device,
                                      unsigned flags) {
  constexpr unsigned kWithDefaultStream = 1;
  NEED_DRIVER(driver);
  if (out == nullptr || resources == nullptr || flags != kWithDefaultStream) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUcontext primary = nullptr;
  const CUresult retained = cuDevicePrimaryCtxRetain(&primary, device);
  if (retained != CUDA_SUCCESS) return retained;
  if (!driver->state->Take(primary->card, kChunk)) {
    cuDevicePrimaryCtxRelease_v2(device);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  auto green = std::make_unique<CUgreenCtx_st>();
  green->context = NewGreen(*driver, primary);
  Greens& greens = TheGreens();
  const std::lock_guard lock(greens.mutex);
  *out = green.get();
  greens.all[green.get()] = std::move(green);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuGreenCtxDestroy(CUgreenCtx green) {
  NEED_DRIVER(driver);
  CUcontext context = nullptr;
  {
    Greens& greens = TheGreens();
    const std::lock_guard lock(greens.mutex);
    const auto found = greens.all.find(green);
    if (found == greens.all.end()) return CUDA_ERROR_INVALID_CONTEXT;
    context = green->context;
    greens.all.erase(found);
  }
  DropGreen(context);
  driver->state->Give(context->card, kChunk);
  return cuDevicePrimaryCtxRelease_v2(context->device);
}

FAKE_EXPORT CUresult cuCtxFromGreenCtx(CUcontext* out, CUgreenCtx green) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Greens& greens = TheGreens();
  const std::lock_guard lock(greens.mutex);
  if (!greens.all.contains(green)) return CUDA_ERROR_INVALID_CONTEXT;
  *out = green->context;
  return CUDA_SUCCESS;
}
