// SPDX-License-Identifier: Apache-2.0
// What the node keeps of grants that were bound late, apart from the resources they are of: the
// binder of this kubelet, what containers write into their directories, and what is left of grants
// that kubelet has forgotten. Files are looked at by workers. Owned by the agent. One thread: the
// loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "config/schema/config.h"
#include "fraction/bind_context.h"
#include "fraction/grant_binder.h"
#include "fraction/grant_tally.h"
#include "fraction/library_files.h"
#include "http/metrics.h"
#include "kubelet/root.h"
#include "ledger/ledger.h"
#include "os/alarm.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera {

class GrantKeeper {
 public:
  struct Surroundings {
    os::Loop& loop;
    os::Workers& workers;
    http::Metrics& metrics;
    std::shared_ptr<BindContext> context;
    std::shared_ptr<GrantInbox> inbox;
    // A container's directory was cut back.
    std::function<void(const GrantSpace::Cut& cut)> cut;
  };
  explicit GrantKeeper(Surroundings at);

  // Binds for this kubelet from now on; grants of before are known.
  void Open(const config::Config& config, const kubelet::Directories& directories);
  // Another configuration.
  void Apply(const config::Config& config);
  const std::shared_ptr<GrantBinder>& binder() const { return binder_; }  // none before Open

  // kubelet asks this agent from now on: whom it has asked another one for is read.
  void KubeletCame();
  // Kubelet's checkpoint may be another by now: what is left of late grants that it has forgotten
  // is removed, and versions of the limiting library that none of them names.
  void RemoveForgotten();
  // Looks at what containers have written into their directories, now and every minute.
  void LookAtSpace();

  // Whether kubelet's checkpoint was of an unknown shape when it was last looked at for grants.
  bool IsCheckpointUnknown() const { return binder_ != nullptr && binder_->IsShapeUnknown(); }
  // Those that were bound, as far as this process knows them.
  BindingStore::Known Grants() const {
    return binder_ != nullptr ? binder_->KnownGrants() : BindingStore::Known();
  }
  // As counted when that was last looked for.
  GrantedByResource Granted() const {
    return tally_ != nullptr ? tally_->last() : GrantedByResource();
  }

 private:
  bool MatchesAny() const;
  void SpaceSeen(const GrantSpace::SpaceReport& seen, size_t stuck);
  void RemoveOldLibraries();

  const Surroundings at_;
  config::Config config_;
  std::shared_ptr<GrantBinder> binder_;
  std::shared_ptr<OldLibraries> old_libraries_;
  std::shared_ptr<GrantTally> tally_;
  std::map<std::string, Steady> told_of_space_;  // when it was last told of this grant
  Steady looked_at_space_{};
  os::Alarm space_;  // while kubelet is silent
  os::Mailbox<GrantKeeper> mailbox_;
};

}  // namespace tessera
