// SPDX-License-Identifier: Apache-2.0
#include "card/probes/first_device.h"

#include <vector>

namespace tessera::card {

const FirstDevice* FirstDevice::Open() {
  static const FirstDevice nvml;
  return nvml.device_ != nullptr ? &nvml : nullptr;
}

FirstDevice::FirstDevice() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr || NVML(*this, nvmlInit_v2)() != NVML_SUCCESS) return;
  NVML(*this, nvmlDeviceGetHandleByIndex_v2)(0, &device_);
}

std::string FirstDevice::Uuid() const {
  char uuid[96] = "";
  NVML(*this, nvmlDeviceGetUUID)(device_, uuid, sizeof uuid);
  return uuid;
}

uint64_t FirstDevice::OfCard() const {
  nvmlMemory_t memory{};
  NVML(*this, nvmlDeviceGetMemoryInfo)(device_, &memory);
  return memory.used;
}

std::map<unsigned, uint64_t> FirstDevice::OfProcesses() const {
  std::vector<nvmlProcessInfo_v2_t> infos(256);
  auto count = static_cast<unsigned>(infos.size());
  std::map<unsigned, uint64_t> bytes;
  if (NVML(*this, nvmlDeviceGetComputeRunningProcesses_v3)(device_, &count, infos.data()) !=
      NVML_SUCCESS) {
    return bytes;
  }
  for (unsigned i = 0; i < count; ++i) {
    const uint64_t used = infos[i].usedGpuMemory;
    bytes[infos[i].pid] = used != UINT64_MAX ? used : 0;
  }
  return bytes;
}

}  // namespace tessera::card
