// SPDX-License-Identifier: Apache-2.0
// What kind of node GPUs are on, and their backend on those where they are not told apart:
//
// - WSL, where libdxcore.so can be loaded: all GPUs are one device "all", with /dev/dxg. It is
//   looked for until NVML has answered.
// - Tegra, by its files where there is no NVML, or by a GPU of NVML's that is part of the
//   processor, or because the configuration says so: all are one device "tegra", without nodes.
// - any other: as NVML lists them (nvidia.h).
//
// Such a device is good as long as what the platform was told by is there; where that is NVML's
// word, as long as NVML's checks of the GPU are; where it is the configuration's, always. Threads:
// as in backend.h.
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

// Whether libdxcore.so can be loaded, below the driver's root or from where the loader finds it.
bool HasDxCore(const os::Root& root, const std::string& driver_root);
// Whether files below the driver's root or the node's own say that this is a Tegra.
bool HasTegraFiles(const os::Root& root, const std::string& driver_root);
// Whether it is one by these files and NVML cannot even be loaded.
bool IsTegraWithoutNvml(const os::Root& root, const std::string& driver_root);
// Whether NVIDIA's plugin has GPUs from NVML here, as on WSL, and not as a Tegra has them.
bool NeedsNvml(const os::Root& root, const NvidiaConfig& config);

class PlatformBackend : public Backend, private BackendEvents {
 public:
  // `gpus` is the backend for a node where NVML tells GPUs apart.
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
  // All GPUs as one.
  struct CombinedGpu {
    std::string id;
    std::vector<Device> parts;  // as NVML has them; empty: it was not asked
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
  // That the IMEX channel is missing, or is there again.
  void TellImex();

  const std::string resource_;
  const NvidiaConfig config_;
  const os::Root root_;
  const std::shared_ptr<Backend> gpus_;
  std::atomic<bool> has_nvml_ = false;  // it has answered once
  std::atomic<bool> is_wsl_ = false;    // its library was there once

  DriverFiles files_;  // as last found; for the thread of scans alone, as what follows
  bool told_no_libraries_ = false;
  bool told_forced_ = false;
  std::set<std::string> told_missing_;  // features
  bool told_no_imex_ = false;           // it was missing in the last scan

  Mutex mutex_;  // events are reported under it
  BackendEvents* events_ TESSERA_GUARDED_BY(mutex_) = nullptr;
  std::optional<CombinedGpu> whole_ TESSERA_GUARDED_BY(mutex_);  // by the last scan
};

}  // namespace tessera::nvidia
