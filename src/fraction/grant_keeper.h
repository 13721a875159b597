// SPDX-License-Identifier: Apache-2.0
// Keeps the node's late grants, independent of resources: makes the binder for this kubelet, bounds
// what containers write, and removes what forgotten grants left. Workers look at files. Owned by
// the agent. One thread: the loop's.
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

  // Makes the binder for this kubelet. Earlier grants are known.
  void Open(const config::Config& config, const kubelet::Directories& directories);
  // Another configuration.
  void Apply(const config::Config& config);
  const std::shared_ptr<GrantBinder>& binder() const { return binder_; }  // null before Open

  // kubelet has begun to ask this agent: reads whom it asked another agent for.
  void KubeletCame();
  // kubelet's checkpoint may have changed: removes what late grants left that it has forgotten, and
  // versions of the library that no grant names.
  void RemoveForgotten();
  // Looks at what containers have written into their directories, now and every minute.
  void LookAtSpace();

  // As GrantBinder::IsShapeUnknown.
  bool IsCheckpointUnknown() const { return binder_ != nullptr && binder_->IsShapeUnknown(); }
  // The records that this process knows.
  BindingStore::Known Grants() const {
    return binder_ != nullptr ? binder_->KnownGrants() : BindingStore::Known();
  }
  // The last count.
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
  std::map<std::string, Steady> told_of_space_;  // by grant: when it was last reported
  Steady looked_at_space_{};
  os::Alarm space_;  // rings while kubelet is silent
  os::Mailbox<GrantKeeper> mailbox_;
};

}  // namespace tessera
