// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// NVML as the limiter uses it: facts of its ABI, and the libnvidia-ml that the program itself
// loaded. Like driver.h for libcuda.

enum nvmlReturn_t : int {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
};

using nvmlDevice_t = struct nvmlDevice_st*;

struct nvmlMemory_t {  // bytes
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct nvmlMemory_v2_t {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;  // by the driver
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(nvmlMemory_t) == 24 && sizeof(nvmlMemory_v2_t) == 40);

// One process on one device.
struct nvmlProcessInfo_v1_t {
  unsigned pid;
  unsigned long long usedGpuMemory;  // bytes
};

// For the second and third version of the functions.
struct nvmlProcessInfo_v2_t {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId;  // all ones: none
  unsigned computeInstanceId;
};

struct nvmlProcessDetail_v1_t {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId;
  unsigned computeInstanceId;
  unsigned long long usedGpuCcProtectedMemory;
};

struct nvmlProcessDetailList_v1_t {
  unsigned version;
  unsigned mode;
  unsigned numProcArrayEntries;
  nvmlProcessDetail_v1_t* procArray;
};

// Use of a device's engines, in percent.
struct nvmlProcessUtilizationSample_t {
  unsigned pid;
  unsigned long long timeStamp;  // microseconds since 1970
  unsigned smUtil;
  unsigned memUtil;
  unsigned encUtil;
  unsigned decUtil;
};

struct nvmlProcessUtilizationInfo_v1_t {
  unsigned long long timeStamp;
  unsigned pid;
  unsigned smUtil;
  unsigned memUtil;
  unsigned encUtil;
  unsigned decUtil;
  unsigned jpgUtil;
  unsigned ofaUtil;
};

struct nvmlProcessesUtilizationInfo_v1_t {
  unsigned version;
  unsigned processSamplesCount;
  unsigned long long lastSeenTimeStamp;
  nvmlProcessUtilizationInfo_v1_t* procUtilArray;
};

static_assert(sizeof(nvmlProcessInfo_v1_t) == 16 && sizeof(nvmlProcessInfo_v2_t) == 24);
static_assert(sizeof(nvmlProcessDetail_v1_t) == 32 && sizeof(nvmlProcessDetailList_v1_t) == 24);
static_assert(sizeof(nvmlProcessUtilizationSample_t) == 32);
static_assert(sizeof(nvmlProcessUtilizationInfo_v1_t) == 40);
static_assert(sizeof(nvmlProcessesUtilizationInfo_v1_t) == 24);

// The version number of such a structure: its size, and its number above it.
template <typename Structure>
inline constexpr unsigned kNvmlVersion1 = sizeof(Structure) | 1u << 24;

#pragma GCC visibility push(default)
extern "C" {
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t*);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t, nvmlMemory_v2_t*);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t, unsigned*, nvmlProcessInfo_v1_t*);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t, unsigned*,
                                                     nvmlProcessInfo_v2_t*);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t, unsigned*,
                                                     nvmlProcessInfo_v2_t*);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t, unsigned*, nvmlProcessInfo_v1_t*);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t, unsigned*,
                                                      nvmlProcessInfo_v2_t*);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t, unsigned*,
                                                      nvmlProcessInfo_v2_t*);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t, unsigned*,
                                                     nvmlProcessInfo_v1_t*);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t, unsigned*,
                                                        nvmlProcessInfo_v2_t*);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t, unsigned*,
                                                        nvmlProcessInfo_v2_t*);
nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t, nvmlProcessDetailList_v1_t*);
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t, nvmlProcessUtilizationSample_t*,
                                             unsigned*, unsigned long long);
nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t,
                                                   nvmlProcessesUtilizationInfo_v1_t*);
nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t, unsigned*, unsigned*);
// Only the driver fills the answer.
nvmlReturn_t nvmlDeviceGetAccountingStats(nvmlDevice_t, unsigned, void*);
nvmlReturn_t nvmlDeviceGetAccountingStats_v2(nvmlDevice_t, void*);
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t, unsigned*);
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t, unsigned*);
nvmlReturn_t nvmlInit_v2();
nvmlReturn_t nvmlShutdown();
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char*, nvmlDevice_t*);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned*);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned, nvmlDevice_t*);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t, char*, unsigned);
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t, unsigned*);
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t, unsigned, nvmlDevice_t*);
}  // extern "C"
#pragma GCC visibility pop

namespace tessera::limiter {

// NVML's own functions; none is null. A missing function returns NVML_ERROR_FUNCTION_NOT_FOUND.
// Without a library all return NVML_ERROR_UNINITIALIZED.
struct Nvml {
#define HOOKED(name) decltype(&::name) name;
#define CALLED(name) decltype(&::name) name;
#include "limiter/driver/nvml.def"
};

const Nvml& TheNvml();
bool TakeNvml(const void* address);
bool AnyNvmlHas(const char* name);
void LookForNvmlAnew();

// The program's replacement for NVML's function of that name; null if it is not hooked.
void* NvmlHookNamed(const char* name);

}  // namespace tessera::limiter
