// SPDX-License-Identifier: Apache-2.0
#include "cuda/launches.h"

#include <cstring>

#include "cuda/contexts.h"
#include "cuda/engine.h"
#include "cuda/graphs.h"

namespace tessera::fake_cuda {
namespace {

constexpr uint64_t kShort = 1000;  // ns of a kernel without an argument for it

// The settings of cuFuncSetBlockShape and cuParamSetv, for the launches of CUDA 2.
struct Legacy {
  uint64_t ns = kShort;
  unsigned block[3] = {1, 1, 1};
};
thread_local Legacy t_legacy;

// Reads `extra` as CUDA defines it: pairs of a key and a value. Keys: 1, the arguments' buffer; 2,
// the address of its size; 0, the end.
void ReadExtra(uint64_t& ns, void** extra) {
  constexpr uintptr_t kEnd = 0;
  constexpr uintptr_t kBuffer = 1;
  for (; reinterpret_cast<uintptr_t>(extra[0]) != kEnd; extra += 2) {
    if (reinterpret_cast<uintptr_t>(extra[0]) == kBuffer) std::memcpy(&ns, extra[1], sizeof ns);
  }
}

bool IsShape(const unsigned (&shape)[3]) {
  return shape[0] > 0 && shape[1] > 0 && shape[2] > 0;
}

CUresult LaunchIn(Launch&& launch, CUstream handle, void** parameters, void** extra) {
  NEED_CONTEXT(context);
  const CUstream stream = StreamOf(handle, context);
  if (stream == nullptr) return WhyNone(handle);
  if (launch.function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!IsShape(launch.grid) || !IsShape(launch.block)) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  if (!ReadArguments(launch, parameters, extra)) return CUDA_ERROR_INVALID_VALUE;
  if (!HasCode(launch.function)) return CUDA_ERROR_OUT_OF_MEMORY;
  return Put(launch, stream);
}

CUresult LaunchLegacy(CUfunction function, int width, int height, CUstream stream) {
  const auto& block = t_legacy.block;
  void* parameters[] = {&t_legacy.ns};
  return LaunchIn({function,
                   {static_cast<unsigned>(width), static_cast<unsigned>(height), 1},
                   {block[0], block[1], block[2]}},
                  stream, parameters, nullptr);
}

}  // namespace

namespace {

// Submits a kernel to another card than the stream's. Returns the stream's new tail. Marks of a
// card with time slices cannot be compared with another card's. There the host waits.
Mark SubmitElsewhere(unsigned card, const CUstream_st& stream, uint64_t ns) {
  if (!TakesTurns(card) && !TakesTurns(stream.context->card)) return Submit(card, stream.tail, ns);
  AwaitMark(stream.context->card, stream.tail);
  AwaitMark(card, Submit(card, 0, ns));
  return stream.tail;
}

}  // namespace

bool ReadArguments(Launch& launch, void** parameters, void** extra) {
  if (!launch.function->spins) {
    launch.ns = kShort;
    return true;
  }
  if (parameters != nullptr) {
    std::memcpy(&launch.ns, parameters[0], sizeof launch.ns);
    return true;
  }
  if (extra != nullptr) ReadExtra(launch.ns, extra);
  return extra != nullptr;
}

CUresult Put(const Launch& launch, CUstream stream) {
  if (Capture* capture = stream->capture) {
    Launch captured = launch;
    if (captured.context == nullptr) captured.context = stream->context;
    return CaptureLaunch(*capture, captured);
  }
  if (g_captures != 0 && stream == &stream->context->legacy) {
    const CUresult refused = RefuseLegacy(stream->context);
    if (refused != CUDA_SUCCESS) return refused;
  }
  const CUcontext context = launch.context != nullptr ? launch.context : stream->context;
  const auto run = [stream, card = context->card, ns = launch.ns] {
    const bool is_elsewhere = card != stream->context->card;
    const Mark end =
        is_elsewhere ? SubmitElsewhere(card, *stream, ns) : Submit(card, stream->tail, ns);
    stream->tail.store(end, std::memory_order_release);
    return true;
  };
  if (stream->held) {
    Enqueue(stream, run);
  } else {
    run();
  }
  return CUDA_SUCCESS;
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_STREAM_FUNCTION(cuLaunchKernel, _ptsz,
                     (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                      unsigned by, unsigned bz, unsigned shared, CUstream stream, void** parameters,
                      void** extra),
                     (function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra)) {
  return LaunchIn({function, {gx, gy, gz}, {bx, by, bz}, shared}, stream, parameters, extra);
}

FAKE_STREAM_FUNCTION(cuLaunchKernelEx, _ptsz,
                     (const CUlaunchConfig* config, CUfunction function, void** parameters,
                      void** extra),
                     (config, function, parameters, extra)) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return LaunchIn({function,
                   {config->gridDimX, config->gridDimY, config->gridDimZ},
                   {config->blockDimX, config->blockDimY, config->blockDimZ},
                   config->sharedMemBytes},
                  config->hStream, parameters, extra);
}

FAKE_STREAM_FUNCTION(cuLaunchCooperativeKernel, _ptsz,
                     (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                      unsigned by, unsigned bz, unsigned shared, CUstream stream,
                      void** parameters),
                     (function, gx, gy, gz, bx, by, bz, shared, stream, parameters)) {
  return LaunchIn({function, {gx, gy, gz}, {bx, by, bz}, shared}, stream, parameters, nullptr);
}

FAKE_EXPORT CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* launches,
                                                          unsigned count, unsigned /*flags*/) {
  if (launches == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  // All arguments are checked first: all kernels run, or none. Default streams are not allowed.
  for (unsigned i = 0; i < count; ++i) {
    const bool is_own = launches[i].hStream != nullptr && launches[i].hStream != kLegacyStream &&
                        launches[i].hStream != kPerThreadStream;
    if (launches[i].function == nullptr || !is_own) return CUDA_ERROR_INVALID_HANDLE;
  }
  for (unsigned i = 0; i < count; ++i) {
    const CUDA_LAUNCH_PARAMS& one = launches[i];
    const CUresult result = LaunchIn({one.function,
                                      {one.gridDimX, one.gridDimY, one.gridDimZ},
                                      {one.blockDimX, one.blockDimY, one.blockDimZ},
                                      one.sharedMemBytes},
                                     one.hStream, one.kernelParams, nullptr);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
  t_legacy.block[0] = static_cast<unsigned>(x);
  t_legacy.block[1] = static_cast<unsigned>(y);
  t_legacy.block[2] = static_cast<unsigned>(z);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuParamSetv(CUfunction function, int offset, void* from, unsigned bytes) {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (from == nullptr || offset != 0 || bytes != sizeof t_legacy.ns)
    return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(&t_legacy.ns, from, bytes);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuParamSetSize(CUfunction function, unsigned /*bytes*/) {
  return function == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuLaunch(CUfunction function) {
  return LaunchLegacy(function, 1, 1, nullptr);
}
FAKE_EXPORT CUresult cuLaunchGrid(CUfunction function, int width, int height) {
  return LaunchLegacy(function, width, height, nullptr);
}
FAKE_EXPORT CUresult cuLaunchGridAsync(CUfunction function, int width, int height,
                                       CUstream stream) {
  return LaunchLegacy(function, width, height, stream);
}
