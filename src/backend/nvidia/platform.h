// SPDX-License-Identifier: Apache-2.0
// The backend for every kind of node. On WSL and Tegra GPUs cannot be told apart, and all are one
// device.
//
// - WSL: libdxcore.so can be loaded. The device is "all", with /dev/dxg. The library is looked for
//   until NVML has answered.
// - Tegra: its files are there and NVML is not, or a GPU of NVML's is part of the processor, or the
//   configuration says so. The device is "tegra", without nodes.
// - Any other: as NVML lists them (nvidia.h). Without NVML and without a GPU on the PCI bus: none.
//
// Such a device is good as long as the evidence of its platform is there. If that is NVML, its
// checks of the GPUs decide. If that is the configuration, the device is always good. Threads: as
// in backend.h.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/nvidia/cdi/driver_files.h"
#include "backend/nvidia/core/nvidia_config.h"
#include "base/mutex.h"
#include "os/files.h"

namespace tessera::nvidia {

// Whether libdxcore.so can be loaded, from below the driver's root or from the loader's
// directories.
bool HasDxCore(const os::Root& root, const std::string& driver_root);
// Whether files below the driver's root or the node's own name a Tegra.
bool HasTegraFiles(const os::Root& root, const std::string& driver_root);
// Whether such files name a Tegra and NVML cannot be loaded.
bool IsTegraWithoutNvml(const os::Root& root, const std::string& driver_root);
// Whether the PCI bus can be read and has no GPU of NVIDIA's, and the node is neither WSL nor a
// Tegra. Such a node needs no driver.
bool HasNoGpu(const os::Root& root, const std::string& driver_root);
// Whether NVIDIA's plugin would use NVML here, as on WSL, and not its Tegra code.
bool NeedsNvml(const os::Root& root, const NvidiaConfig& config);

class PlatformBackend : public Backend, private BackendEvents {
 public:
  // `gpus`: the backend for a node where NVML tells GPUs apart.
  PlatformBackend(std::string resource, NvidiaConfig config, os::Root root,
                  std::shared_ptr<Backend> gpus);

  Status Start(BackendEvents& events) override;
  void Stop() override;
  Result<std::vector<Device>> Scan() override;
  std::shared_ptr<const cdi::Parts> DescribeForCdi(const std::vector<Device>& devices) override;
  Evidence Check(const Device& device) override;
  bool TimeoutIsInconclusive() const override { return true; }
  bool Release() override { return gpus_->Release(); }
  void TakeUp() override { gpus_->TakeUp(); }
  std::vector<std::string> HeldBy() const override { return gpus_->HeldBy(); }

 private:
  // All GPUs as one device.
  struct CombinedGpu {
    std::string id;
    std::vector<Device> parts;  // NVML's devices; empty: NVML was not asked
  };
  void RescanSoon() override;
  void Report(const DeviceKey& key, Evidence evidence) override;
  void CountDriverError(const std::string& gpu, const std::string& xid) override;
  Result<std::vector<Device>> FindDevices();
  std::vector<Device> SetCombinedGpu(std::optional<CombinedGpu> whole);
  Device Describe(const std::string& id) const;
  bool IsWsl();
  bool HasDxg() const;
  void TellForced();
  void TellMissing(const cdi::Parts& parts);
  // Logs once that the IMEX channel is missing, or is back.
  void TellImex();

  const std::string resource_;
  const NvidiaConfig config_;
  const os::Root root_;
  const std::shared_ptr<Backend> gpus_;
  std::atomic<bool> has_nvml_ = false;  // it has answered once
  std::atomic<bool> is_wsl_ = false;    // its library was found once

  DriverFiles files_;  // as last found; the scan thread's own, with the next members
  bool told_no_libraries_ = false;
  bool told_forced_ = false;
  bool told_no_gpu_ = false;
  std::set<std::string> told_missing_;  // features that were logged as missing
  bool told_no_imex_ = false;           // logged as missing by the last scan

  Mutex mutex_;  // events are reported under it
  BackendEvents* events_ TESSERA_GUARDED_BY(mutex_) = nullptr;
  std::optional<CombinedGpu> whole_ TESSERA_GUARDED_BY(mutex_);  // as the last scan found it
};

}  // namespace tessera::nvidia
