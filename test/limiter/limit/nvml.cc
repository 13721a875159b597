// SPDX-License-Identifier: Apache-2.0
// Prints what NVML reports of the first device's memory, by the older function and the newer one,
// as nvidia-smi asks for it. With UUIDs it prints those devices instead. With "null" it prints what
// both answer without a place for the answer, and without a device.
#include "limiter/driver/nvml.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

template <typename F>
F* Find(const char* name) {
  static void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  void* found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return reinterpret_cast<F*>(found);
}

void Check(nvmlReturn_t result, const char* what) {
  if (result == NVML_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", what, result);
  exit(1);
}

#define CALL(name) Find<decltype(name)>(#name)

void Tell(nvmlDevice_t device) {
  nvmlMemory_t memory{};
  nvmlMemory_v2_t newer{.version = 0x02000028, .total = 0, .reserved = 0, .free = 0, .used = 0};
  Check(CALL(nvmlDeviceGetMemoryInfo)(device, &memory), "memory");
  Check(CALL(nvmlDeviceGetMemoryInfo_v2)(device, &newer), "memory v2");
  printf("used %llu, free %llu of %llu; used %llu, free %llu, reserved %llu of %llu\n", memory.used,
         memory.free, memory.total, newer.used, newer.free, newer.reserved, newer.total);
}

void TellNowhere(nvmlDevice_t device) {
  nvmlMemory_t memory{};
  printf("nowhere %d, %d; no device %d\n", CALL(nvmlDeviceGetMemoryInfo)(device, nullptr),
         CALL(nvmlDeviceGetMemoryInfo_v2)(device, nullptr),
         CALL(nvmlDeviceGetMemoryInfo)(nullptr, &memory));
}

}  // namespace

int main(int count, char** words) {
  nvmlDevice_t device = nullptr;
  Check(Find<nvmlReturn_t()>("nvmlInit_v2")(), "nvmlInit");
  const bool is_null = count == 2 && strcmp(words[1], "null") == 0;
  if (count < 2 || is_null) {
    Check(CALL(nvmlDeviceGetHandleByIndex_v2)(0, &device), "handle");
    is_null ? TellNowhere(device) : Tell(device);
    return 0;
  }
  for (int i = 1; i < count; ++i) {
    using ByUuid = nvmlReturn_t(const char*, nvmlDevice_t*);
    Check(Find<ByUuid>("nvmlDeviceGetHandleByUUID")(words[i], &device), words[i]);
    Tell(device);
  }
  return 0;
}
