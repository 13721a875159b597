// SPDX-License-Identifier: Apache-2.0
// The kind of FPGAs: `fpga: {vendor: intel}` and `fpga: {vendor: xilinx}`. It finds them by sysfs,
// without a vendor's library.
//
// - A driver that appears later, another numbering and a loaded shell are found within seconds.
// - A check looks whether the card answers on its bus and whether its nodes are there. Then it
// looks
//   whether the card is what it was, and whether it counts errors.
// - In the mode `region` each grant gets Intel's hook, which programs the card (programming.h).
//
// Owned and threaded as backend.h says.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/found_devices.h"
#include "backend/fpga/card.h"
#include "backend/fpga/fpga_config.h"
#include "backend/fpga/programming.h"
#include "base/mutex.h"
#include "os/files.h"
#include "os/loop.h"

namespace tessera {

class FpgaBackend : public Backend {
 public:
  static constexpr Duration kLook{2'000};
  // `loop` outlives the backend. `look`: how often sysfs is read for changes, for which it has no
  // events. `found`: null if no former backend's devices are known.
  FpgaBackend(std::string resource, FpgaConfig config, os::Root root, os::Loop& loop,
              Duration look = kLook, std::shared_ptr<FoundDevices> found = nullptr);

  Status Start(BackendEvents& events) override;
  void Stop() override;
  // kDriverMissing: the node has a card that no driver serves, and no other.
  Result<std::vector<Device>> Scan() override;
  Evidence Check(const Device& device) override;
  Preparer* preparer() override;

 private:
  using Cards = std::vector<fpga::Card>;

  Cards Read() const;
  bool IsSame(const fpga::Card& a, const fpga::Card& b) const;
  std::vector<std::string> ReadTraces() const;
  void Look();
  void KeepWhatIsUnread(Cards& cards);
  Cards FormerAt(const std::string& address) const;
  Result<std::vector<Device>> WithoutCards();
  Device Describe(const fpga::Card& card) const;
  std::string SourceOf(const fpga::Card& card) const;
  Evidence CheckIdentity(const fpga::Card& card);
  void AskForScan();

  const std::string resource_;
  const FpgaConfig config_;
  const os::Root root_;
  os::Loop& loop_;
  const Duration look_;
  const std::shared_ptr<FoundDevices> found_;
  fpga::Programming programming_;
  std::atomic<bool> told_no_card_{false};

  Mutex mutex_;  // events are reported under it, so that none comes after Stop
  BackendEvents* events_ TESSERA_GUARDED_BY(mutex_) = nullptr;
  std::shared_ptr<const Cards> cards_ TESSERA_GUARDED_BY(mutex_) = std::make_shared<Cards>();
  std::vector<std::string> traces_ TESSERA_GUARDED_BY(mutex_);  // of the last scan
  bool is_broken_ TESSERA_GUARDED_BY(mutex_) = false;           // a device of the last scan

  // The loop's thread only.
  os::Loop::Handle timer_;
};

}  // namespace tessera
