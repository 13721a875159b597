// SPDX-License-Identifier: Apache-2.0
// The backend of NVIDIA GPUs and MIG devices, through NVML. Each is a device, named by its UUID.
//
// - GPUs are read on worker threads. A hanging GPU keeps its thread, delays no other, and no scan
//   waits for it twice.
// - A GPU that cannot be read now keeps its last description; its checks give the health. A GPU
//   that was never read is a device with a defect.
// - An XID takes out the devices that it is about, by the policy of core/xid.h. Polled state
//   (core/condition.h) counts as any check.
// - A device that was lost or shows signs of a reset, and answers again, was reset. The reset is
//   reported before the good check.
// - A plugged GPU, or a MIG instance made or destroyed, leads to a scan (mig/geometry.h).
// - Without a driver a scan fails and is repeated, and every check returns kUnknown.
//
// Threads: as in backend.h. Destroyed after Stop, once no call runs, on any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/nvidia/core/condition.h"
#include "backend/nvidia/core/events.h"
#include "backend/nvidia/core/gpu.h"
#include "backend/nvidia/core/nvidia_config.h"
#include "backend/nvidia/core/reading.h"
#include "backend/nvidia/mig/geometry.h"
#include "backend/nvidia/nvml/nvml.h"
#include "os/files.h"
#include "os/worker.h"

namespace tessera {

class NvidiaBackend : public Backend {
 public:
  NvidiaBackend(std::string resource, NvidiaConfig config, os::Root root);

  Status Start(BackendEvents& events) override;
  void Stop() override;
  // The devices in NVML's order. kDriverMissing, kTimedOut, kScanFailed.
  Result<std::vector<Device>> Scan() override;
  // Good if the GPU is in its place, answers, and has no trouble.
  Evidence Check(const Device& device) override;
  bool TimeoutIsInconclusive() const override { return true; }

  bool Release() override;
  void TakeUp() override;
  std::vector<std::string> HeldBy() const override;

 private:
  using GpuReading = nvidia::Reading<nvml::Answer<nvidia::Gpu>>;
  using LevelReading = nvidia::Reading<nvidia::Levels>;

  struct GpuReadings {
    std::map<unsigned, nvidia::Gpu> gpus;    // by index
    std::map<unsigned, std::string> silent;  // by index, the reason
  };
  nvml::Answer<GpuReadings> ReadGpus(const nvml::LibraryPtr& library, unsigned count);
  std::shared_ptr<GpuReading> BeginReading(const nvml::LibraryPtr& library, unsigned index,
                                           nvidia::SerialQueue& queue);
  // What GPUs have in common, by UUID. Each pair is read once, when both have just answered.
  std::map<std::string, nvidia::Levels> ReadLevels(const nvml::LibraryPtr& library,
                                                   const std::map<unsigned, nvidia::Gpu>& gpus);
  void AddDevices(const nvidia::Gpu& gpu, const std::map<unsigned, nvidia::Gpu>& gpus,
                  const nvidia::Levels& levels, std::vector<Device>& devices);
  void TellWhole(const std::string& gpu);
  // A device's place: the GPU's index, and whether the device is one of its MIG devices.
  struct DeviceLocation {
    unsigned gpu = 0;
    bool is_mig = false;
    std::string uuid{};  // the GPU's
    bool integrated = false;
  };
  std::optional<DeviceLocation> Find(const std::string& id) const;
  Evidence CheckLocated(const nvml::LibraryPtr& library, const DeviceLocation& location,
                        const std::string& id, nvidia::Condition& condition);
  Evidence CheckGpu(const nvml::LibraryPtr& library, nvml::DeviceHandle gpu, const std::string& id);
  Evidence CheckMig(const nvml::LibraryPtr& library, nvml::DeviceHandle gpu, const std::string& id);
  // Turns a good check into a bad one if events count and the driver does not report this GPU's.
  Evidence WithoutEvents(const DeviceLocation& location, Evidence good) const;
  // The evidence of a failed check. If the driver is gone, asks for a scan.
  Evidence FailedCheck(const nvml::LibraryPtr& library, const nvml::Failure& failure);

  // A device's earlier checks.
  struct DeviceHistory {
    std::string gpu{};                             // the UUID of its GPU
    std::optional<nvidia::Condition> condition{};  // none: no check was good yet
    bool lost = false;                             // the driver had lost it, or did not list it
    unsigned losses = 0;                           // the session's, at the last good check
  };
  DeviceHistory& HistoryOf(const std::string& id) TESSERA_REQUIRES(mutex_);
  bool WasReset(const DeviceHistory& history, const nvidia::Condition& now, unsigned losses) const;
  void TellReset(const DeviceKey& key, const std::string& gpu) TESSERA_REQUIRES(mutex_);
  void TellSlowdowns(const std::string& gpu, uint64_t now) TESSERA_REQUIRES(mutex_);
  // The resource's devices that the event is about.
  std::vector<DeviceKey> DevicesOfEvent(const nvidia::Event& event) const TESSERA_REQUIRES(mutex_);

  void TellGeometry(unsigned count, const std::map<unsigned, nvidia::Gpu>& gpus);
  // Records which devices the scan found, for events, and marks missing ones as lost.
  void RecordScan(const std::vector<Device>& devices);
  void OnEvent(const nvidia::Event& event);

  const std::string resource_;
  const NvidiaConfig config_;
  const os::Root root_;
  const nvidia::XidPolicy xids_;
  const std::shared_ptr<nvml::Session> session_;
  const std::shared_ptr<nvidia::EventWatcher> watcher_;
  const std::shared_ptr<nvidia::GeometryWatch> geometry_;
  const unsigned losses_at_first_;  // the session's
  os::Workers readers_;

  // Events are reported under it, so that none comes after Stop. Never held over a call of NVML.
  mutable Mutex mutex_;
  BackendEvents* events_ TESSERA_GUARDED_BY(mutex_) = nullptr;
  // By index or UUID, the last of each GPU.
  std::map<unsigned, std::shared_ptr<GpuReading>> readings_ TESSERA_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<LevelReading>> level_readings_ TESSERA_GUARDED_BY(mutex_);
  // By UUID, everything that was read.
  std::map<std::string, nvidia::Levels> levels_ TESSERA_GUARDED_BY(mutex_);
  std::map<unsigned, nvidia::Gpu> gpus_ TESSERA_GUARDED_BY(mutex_);   // as last read
  std::map<std::string, int64_t> memory_ TESSERA_GUARDED_BY(mutex_);  // by UUID, as last read
  std::set<std::string> ids_ TESSERA_GUARDED_BY(mutex_);  // the devices of the last scan
  std::map<std::string, DeviceHistory> histories_ TESSERA_GUARDED_BY(mutex_);  // by device id
  // The slowdowns that were logged, by UUID.
  std::map<std::string, uint64_t> slowdowns_ TESSERA_GUARDED_BY(mutex_);
  // GPUs in MIG mode that are logged as whole.
  std::set<std::string> told_whole_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
