// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// NVML as the limiter sees it: facts of its ABI, and the libnvidia-ml that the program itself
// loaded (driver.h says the same of libcuda).

enum nvmlReturn_t : int {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
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

#pragma GCC visibility push(default)
extern "C" {
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t*);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t, nvmlMemory_v2_t*);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned*);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned, nvmlDevice_t*);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t, char*, unsigned);
}  // extern "C"
#pragma GCC visibility pop

namespace tessera::limiter {

// NVML's own functions. None is null: one that the library lacks answers
// NVML_ERROR_FUNCTION_NOT_FOUND, and without a library all answer NVML_ERROR_UNINITIALIZED.
struct Nvml {
#define HOOKED(name) decltype(&::name) name;
#define CALLED(name) decltype(&::name) name;
#include "limiter/driver/nvml.def"
};

const Nvml& TheNvml();
bool TakeNvml(const void* address);
bool AnyNvmlHas(const char* name);
void LookForNvmlAnew();

// What a program is given instead of NVML's function of that name; null for all that are not
// hooked.
void* NvmlHookNamed(const char* name);

}  // namespace tessera::limiter
