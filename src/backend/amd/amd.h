// SPDX-License-Identifier: Apache-2.0
// The kind of AMD GPUs: `amd: {}`. It finds them by sysfs, without a vendor's library.
//
// - A GPU is a device, or each of its partitions is.
// - A driver that appears later, and each change of a partition, is found within seconds.
// - A check looks whether the GPU answers on its bus, whether the kernel still lets it compute,
//   whether its nodes are there, and whether it counts new uncorrected errors.
// - A reset takes a GPU out while it lasts. It is the remedy for uncorrected errors.
// - A GPU that AMD's metrics exporter calls unhealthy is out as well.
//
// Owned and threaded as backend.h says.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/amd/amd_config.h"
#include "backend/amd/exporter.h"
#include "backend/amd/gpus.h"
#include "backend/amd/ras.h"
#include "backend/amd/smi_events.h"
#include "backend/backend.h"
#include "base/mutex.h"
#include "os/files.h"
#include "os/loop.h"

namespace tessera {

class AmdBackend : public Backend {
 public:
  static constexpr Duration kLook{2'000};
  static constexpr Duration kLongReset{60'000};  // a reset takes seconds
  // `loop` and `clock` outlive the backend. `open` opens the events of a GPU (smi_events.h). `ask`
  // asks the exporter; empty: it is not asked. `look`: how often sysfs is read for changes, for
  // which it has no events.
  AmdBackend(std::string resource, AmdConfig config, os::Root root, os::Loop& loop,
             amd::SmiEvents::Open open, amd::ExporterWatch::Ask ask,
             const Clock& clock = SystemClock(), Duration look = kLook);

  Status Start(BackendEvents& events) override;
  void Stop() override;
  // kDriverMissing: amdgpu is not loaded, and the node has a GPU for it. kReleased.
  Result<std::vector<Device>> Scan() override;
  // Documents of virtual GPUs have nodes, and variables of the grant alone.
  std::shared_ptr<const cdi::Parts> DescribeForCdi(const std::vector<Device>& devices) override;
  Evidence Check(const Device& device) override;
  // The streams of events keep the driver loaded.
  bool Release() override;
  void TakeUp() override;
  std::vector<std::string> HeldBy() const override;
  // All parts of a GPU are reset together. The next check says so.
  void LearnReset(const Device& device) override;

 private:
  // What changes with a driver, a GPU or a partition.
  struct State {
    uint64_t generation = 0;
    std::vector<std::string> addresses{};
    bool operator==(const State&) const = default;
  };
  // A device as the last scan found it.
  struct Found {
    DeviceKey key{};
    std::string address{};
    unsigned partition = 0;
    uint64_t gpu_id = 0;
  };
  using Founds = std::vector<Found>;

  // A reset that has not ended, and is not told as a long one yet.
  struct Resetting {
    Steady since{};
    Wall began{};
  };

  State ReadState() const;
  uint64_t ReadModule() const;
  Result<amd::Gpus> ReadRestLater();
  Result<amd::Gpus> ReadSettled();
  bool IsHalf(const std::vector<amd::Gpu>& gpus);
  void Look();
  void Follow(const Founds& founds);
  void LogTroubles();
  void Heard(const std::string& address, amd::SmiEvent event);
  bool IsResetting(const std::string& address);
  void TellLongResets();
  void ReportOf(const std::string& address, const Evidence& evidence);
  Evidence CheckByKernel(const Device& device);
  Evidence CheckErrors(const Found& found);
  bool IsNews(const Found& found, const amd::RasWatch::Answer& errors);
  bool ExporterTakesOut(const DeviceKey& key);
  void KeepParts(std::vector<amd::Gpu>& gpus);
  void WarnOfLacks(const std::vector<amd::Gpu>& gpus, const std::vector<Device>& devices);
  bool CanCompute(const Found& found, uint64_t generation) const;

  const std::string resource_;
  const AmdConfig config_;
  const os::Root root_;
  os::Loop& loop_;
  const Clock& clock_;
  const Duration look_;
  amd::RasWatch ras_;
  std::atomic<bool> told_no_gpu_{false};
  std::atomic<bool> released_{false};
  std::atomic<uint64_t> scanned_generation_{0};  // of the last scan

  Mutex mutex_;  // events are reported under it, so that none comes after Stop
  BackendEvents* events_ TESSERA_GUARDED_BY(mutex_) = nullptr;
  std::shared_ptr<const Founds> founds_ TESSERA_GUARDED_BY(mutex_) = std::make_shared<Founds>();
  std::vector<amd::Gpu> last_ TESSERA_GUARDED_BY(mutex_);    // of the last good scan
  bool driver_was_gone_ TESSERA_GUARDED_BY(mutex_) = false;  // since the last good scan
  bool has_scanned_ TESSERA_GUARDED_BY(mutex_) = false;
  uint64_t module_ TESSERA_GUARDED_BY(mutex_) = 0;  // of the last good scan
  // The devices that were told of their GPU's errors, by address.
  std::map<std::string, std::set<DeviceKey, DeviceKeyLess>> told_ TESSERA_GUARDED_BY(mutex_);
  std::set<std::string> warned_of_ TESSERA_GUARDED_BY(mutex_);          // addresses
  uint64_t generation_ TESSERA_GUARDED_BY(mutex_) = 0;                  // of `founds_`
  std::map<std::string, Resetting> resets_ TESSERA_GUARDED_BY(mutex_);  // by address

  // The loop's thread only.
  os::Loop::Handle timer_;
  State state_;
  amd::SmiEvents streams_;
  std::string trouble_;  // of the streams, as last logged
  std::shared_ptr<const Founds> followed_;

  amd::ExporterWatch exporter_;
};

}  // namespace tessera
