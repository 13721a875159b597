// SPDX-License-Identifier: Apache-2.0
// What GPUs measure of themselves, read from NVML. A value that a GPU or its driver does not tell
// is left out of the sample. Without nvmlDeviceGetMemoryInfo_v2 the used memory includes the
// reserved.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/nvidia/core/reading.h"
#include "backend/nvidia/nvml/nvml.h"
#include "backend/sampler.h"
#include "base/mutex.h"
#include "os/files.h"
#include "os/worker.h"

namespace tessera::nvidia {

class GpuSampler final : public Sampler {
 public:
  // `driver_root` as in the configuration of a resource. `has_no_gpu`: whether the node has no GPU,
  // so that it needs no driver. Called by Devices, on its thread.
  GpuSampler(const os::Root& root, const std::string& driver_root,
             std::function<bool()> has_no_gpu);

  // kDriverMissing, kTimedOut, kReleased, kScanFailed. A GPU that hangs is left out, and delays the
  // answer by some seconds once.
  Result<std::vector<SampledDevice>> Devices() override;
  // As above, and kDeviceLost, kVanished.
  Result<DeviceSample> Sample(const SampledDevice& device) override;
  void Release() override;
  void TakeUp() override;
  std::vector<std::string> HeldBy() const override;

 private:
  using DeviceReading = Reading<nvml::Answer<SampledDevice>>;

  // The error for the caller. Lets go of a library whose driver failed.
  Error Failed(const nvml::LibraryPtr& library, const nvml::Failure& failure);

  const std::shared_ptr<nvml::Session> session_;
  const std::function<bool()> has_no_gpu_;
  os::Workers readers_;
  Mutex mutex_;
  // By index, the last of each GPU.
  std::map<unsigned, std::shared_ptr<DeviceReading>> readings_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera::nvidia
