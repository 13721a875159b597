// SPDX-License-Identifier: Apache-2.0
// The kind of RDMA and SR-IOV network cards: `rdma: {}`. It finds them by sysfs, without a vendor's
// library.
//
// - A physical or a virtual function of the PCI bus is a device. Its address is the id.
// - A driver that appears later, virtual functions that are made anew, and nodes that are
//   renumbered are found within seconds.
// - A check looks whether the function answers on its bus, whether its driver and its nodes are the
//   scan's, and at its card: a virtual function has the link of its physical one, and the errors.
// - An interface that a pod has taken, or that a person has set down, is no fault.
//
// Owned and threaded as backend.h says.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/rdma/cards.h"
#include "backend/rdma/functions.h"
#include "backend/rdma/host_network.h"
#include "backend/rdma/link.h"
#include "backend/rdma/names.h"
#include "backend/rdma/rdma_config.h"
#include "backend/sysfs.h"
#include "base/mutex.h"
#include "os/files.h"
#include "os/loop.h"

namespace tessera {

class RdmaBackend : public Backend {
 public:
  static constexpr Duration kLook{3'000};
  static constexpr Duration kFresh{1'000};
  // `loop` outlives the backend. `look`: how often sysfs is read for changes, for which it has no
  // events. `fresh`: how long what a scan saw and a card's state need not be read again, since a
  // card may have hundreds of functions, which are checked in a row.
  RdmaBackend(std::string resource, RdmaConfig config, os::Root root, os::Loop& loop,
              Duration look = kLook, Duration fresh = kFresh);

  Status Start(BackendEvents& events) override;
  void Stop() override;
  Result<std::vector<Device>> Scan() override;
  Evidence Check(const Device& device) override;

 private:
  using Functions = std::vector<rdma::Function>;
  // The functions that the resource has, and the access to each.
  struct Chosen {
    Functions functions{};
    std::vector<RdmaAccess> accesses{};
  };

  void Look();
  void KeepTorn(Functions& functions);
  void KeepTaken(Functions& functions);
  std::vector<Device> DevicesOf(const Chosen& chosen, const rdma::Names& names);
  Chosen ChosenOf(const Functions& functions, const rdma::HostNetwork& host);
  void Tell(const Functions& functions, const Chosen& chosen, const rdma::HostNetwork& host);
  bool IsNews(const std::string& subject, const std::string& text);
  void WarnOnce(const std::string& subject, const std::string& text);
  void RescanSoon();
  std::optional<Evidence> CheckFaces(const sysfs::Directory& of, const rdma::Function& function,
                                     const Device& device);
  void TellDowns(const rdma::Function& physical);
  rdma::Card AskCard(const rdma::Function& physical);
  Evidence CheckCard(const rdma::Card& card, const rdma::Function& function,
                     const rdma::Function& physical);

  const std::string resource_;
  const RdmaConfig config_;
  const os::Root root_;
  os::Loop& loop_;
  const Duration look_;
  const Duration fresh_;
  rdma::Cards cards_;
  rdma::Growth growth_;

  Mutex mutex_;  // events are reported under it, so that none comes after Stop
  BackendEvents* events_ TESSERA_GUARDED_BY(mutex_) = nullptr;
  // All of the last scan, and the addresses of the resource's.
  std::shared_ptr<const Functions> functions_ TESSERA_GUARDED_BY(mutex_) =
      std::make_shared<Functions>();
  Steady scanned_ TESSERA_GUARDED_BY(mutex_){};
  std::map<std::string, RdmaAccess> chosen_ TESSERA_GUARDED_BY(mutex_);
  std::map<std::string, std::string> told_ TESSERA_GUARDED_BY(mutex_);  // last text of a subject

  // Of the last look or scan; null: there was none.
  std::shared_ptr<const rdma::Names> names_ TESSERA_GUARDED_BY(mutex_);

  os::Loop::Handle timer_;  // the loop's thread only
};

}  // namespace tessera
