// SPDX-License-Identifier: Apache-2.0
// The kind of Ascend NPUs: `ascend: {}`. It finds them by DCMI.
//
// - A chip is a device, named by its die; or each vNPU of it is, which an administrator or the
//   agent made.
// - A driver that appears later, and each change of a node in /dev, is found within seconds.
// - A check asks for the chip's health and its fault codes. The driver's events tell of faults
//   sooner.
// - A chip whose faults have cleared was reset, as far as a remedy asks for it.
//
// Owned and threaded as backend.h says. Events come on threads of the driver's library.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/ascend/ascend_config.h"
#include "backend/ascend/chips.h"
#include "backend/ascend/devices.h"
#include "backend/ascend/library.h"
#include "backend/ascend/vnpu_records.h"
#include "backend/ascend/vnpus.h"
#include "backend/backend.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "os/files.h"
#include "os/loop.h"

namespace tessera {

class AscendBackend : public Backend {
 public:
  static constexpr Duration kLook{2'000};
  static constexpr Duration kPatience{5'000};
  struct Times {
    Duration look = kLook;          // how often files are read for changes
    Duration patience = kPatience;  // of a scan, with cards that hang
  };
  // `loop` and `clock` outlive the backend.
  AscendBackend(std::string resource, AscendConfig config, os::Root root, std::string state_dir,
                os::Loop& loop, const Clock& clock, Times times);

  Status Start(BackendEvents& events) override;
  void Stop() override;
  // kDriverMissing: the node has a chip, and its driver cannot be opened. kReleased, kTimedOut,
  // kScanFailed.
  Result<std::vector<Device>> Scan() override;
  // Documents of grants by `policy: vgpu` have nodes, files, and variables of the grant alone.
  std::shared_ptr<const cdi::Parts> DescribeForCdi(const std::vector<Device>& devices) override;
  Evidence Check(const Device& device) override;
  bool Release() override;
  void TakeUp() override;
  std::vector<std::string> HeldBy() const override;
  Preparer* preparer() override { return preparer_ ? &*preparer_ : nullptr; }

 private:
  // The parts of the host that change with a driver, a chip or a vNPU.
  struct State {
    std::string library{};
    std::vector<std::string> nodes{};
    size_t bus = 0;  // a hash of the functions on the PCI bus
    bool operator==(const State&) const = default;
  };

  State ReadState() const;
  void Look();
  void Heard(const dcmi::FaultEvent& event);
  std::optional<ascend::Found> Find(const std::string& id) const;
  std::map<std::string, ascend::Found> Founds() const;
  // The fatal events about a device so far.
  unsigned EventsOf(const std::string& id) const;
  Evidence CheckInTurn(const dcmi::Library& library, const ascend::Found& found);
  Evidence CheckFound(const dcmi::Library& library, const ascend::Found& found);
  Evidence CheckFaults(const dcmi::Library& library, const ascend::Found& found);
  std::optional<Evidence> LastingLinkDown(const std::string& id, bool is_down);
  std::optional<Evidence> LostVnpu(const dcmi::Library& library, const ascend::Found& found) const;
  std::optional<Evidence> LostOwnVnpu(const dcmi::Library& library,
                                      const ascend::Found& found) const;

  const std::string resource_;
  const AscendConfig config_;
  const os::Root root_;
  os::Loop& loop_;
  const Clock& clock_;
  const Times times_;
  const std::shared_ptr<dcmi::Session> session_;
  const ascend::VnpuRecords records_;
  ascend::ChipReader reader_;
  std::optional<ascend::VnpuPreparer> preparer_;  // set if the agent makes vNPUs
  std::atomic<bool> told_no_chip_{false};
  dcmi::Turns checks_;  // a chip that hangs is asked by one check at a time

  mutable Mutex mutex_;  // events are reported under it, so that none comes after Stop
  BackendEvents* events_ TESSERA_GUARDED_BY(mutex_) = nullptr;
  std::map<std::string, ascend::Found> founds_ TESSERA_GUARDED_BY(mutex_);  // by device id
  std::map<std::string, unsigned> events_of_ TESSERA_GUARDED_BY(mutex_);    // fatal ones, by id
  std::set<std::string> sound_ TESSERA_GUARDED_BY(mutex_);  // ids whose last check was good
  std::map<std::string, Steady> link_down_ TESSERA_GUARDED_BY(mutex_);  // by id, since when

  // The loop's thread only.
  os::Loop::Handle timer_;
  State state_;
  std::optional<dcmi::Listening> listening_;
};

}  // namespace tessera
