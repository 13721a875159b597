// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/nvml_order.h"

#include <dlfcn.h>

#include <atomic>

#include "limiter/accounting/accounting.h"
#include "limiter/hook/loader.h"
#include "limiter/log/kept_errno.h"

namespace tessera::limiter {
namespace {

void Name(nvmlDevice_t device) {
  char uuid[96];
  if (TheNvml().nvmlDeviceGetUUID(device, uuid, sizeof uuid) == NVML_SUCCESS) DeviceOf(uuid);
}

// A divided GPU is not one of CUDA's devices; its MIG devices are.
void NamePartsOf(nvmlDevice_t device) {
  unsigned most = 0;
  bool is_divided = false;
  if (TheNvml().nvmlDeviceGetMaxMigDeviceCount(device, &most) != NVML_SUCCESS) most = 0;
  for (unsigned i = 0; i < most; ++i) {
    nvmlDevice_t part = nullptr;
    if (TheNvml().nvmlDeviceGetMigDeviceHandleByIndex(device, i, &part) != NVML_SUCCESS) continue;
    is_divided = true;
    Name(part);
  }
  if (!is_divided) Name(device);
}

}  // namespace

OpenedNvml::OpenedNvml() {
  const KeptErrno kept;
  is_open_ = TheNvml().nvmlInit_v2() == NVML_SUCCESS;
  if (is_open_) return;
  const auto open =
      reinterpret_cast<void* (*)(const char*, int)>(TheLoaders(LoaderFunction::kDlopen));
  if (open != nullptr) library_ = open("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  is_open_ = library_ != nullptr && TheNvml().nvmlInit_v2() == NVML_SUCCESS;
}

OpenedNvml::~OpenedNvml() {
  const KeptErrno kept;
  if (is_open_) TheNvml().nvmlShutdown();
  if (library_ == nullptr) return;
  const auto close = reinterpret_cast<int (*)(void*)>(TheLoaders(LoaderFunction::kDlclose));
  if (close != nullptr) close(library_);
  LookForNvmlAnew();
}

bool NameInOrderOfNvml() {
  static constinit std::atomic<bool> are_named = false;
  if (are_named.load(std::memory_order_acquire)) return true;
  unsigned count = 0;
  if (TheNvml().nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS) return false;
  for (unsigned i = 0; i < count; ++i) {
    nvmlDevice_t device = nullptr;
    if (TheNvml().nvmlDeviceGetHandleByIndex_v2(i, &device) == NVML_SUCCESS) NamePartsOf(device);
  }
  are_named.store(true, std::memory_order_release);
  return true;
}

}  // namespace tessera::limiter
