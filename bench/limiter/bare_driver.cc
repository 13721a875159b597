// SPDX-License-Identifier: Apache-2.0
// The smallest driver of one device. A call takes almost no time, so that the limiter's cost shows.
#include <cstdint>
#include <cstring>
#include <vector>

#include "limiter/driver/cuda.h"

CUresult cuInit(unsigned) {
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice) {
  std::memset(uuid, 7, sizeof(*uuid));
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}

// Addresses; the last freed one is reused first. One thread.
struct Addresses {
  CUdeviceptr next;
  CUdeviceptr step;
  std::vector<CUdeviceptr> freed;
};
constexpr size_t kLargestSmall = size_t{1} << 20;
constexpr CUdeviceptr kSmall = CUdeviceptr{1} << 40;
constexpr CUdeviceptr kLarge = CUdeviceptr{1} << 46;
Addresses small{kSmall, 4096, {}};
Addresses large{kLarge, size_t{4} << 20, {}};

CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  Addresses& all = bytes <= kLargestSmall ? small : large;
  if (all.freed.empty()) {
    *out = all.next;
    all.next += all.step;
  } else {
    *out = all.freed.back();
    all.freed.pop_back();
  }
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr pointer) {
  (pointer < kLarge ? small : large).freed.push_back(pointer);
  return CUDA_SUCCESS;
}
CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = size_t{80} << 30;
  *free = *total - (size_t{1} << 30);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(1);
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) {
  return CUDA_SUCCESS;
}
// As drivers do by default.
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}
// The time of a kernel. The default is a nanosecond, so that no launch waits for its share.
extern "C" float bench_kernel_ms;
float bench_kernel_ms = 0.000001F;
CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(1);
  return CUDA_SUCCESS;
}
// Counts recorded events, by which the benchmark recognises measured launches.
extern "C" uint64_t bench_events;
uint64_t bench_events = 0;
CUresult cuEventRecord(CUevent, CUstream) {
  ++bench_events;
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent) {
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float* ms, CUevent, CUevent) {
  *ms = bench_kernel_ms;
  return CUDA_SUCCESS;
}
// NOLINTNEXTLINE(readability-function-size): the parameters are CUDA's
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void**, void**) {
  return CUDA_SUCCESS;
}
