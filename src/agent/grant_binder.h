// SPDX-License-Identifier: Apache-2.0
// Binds late grants (grant/vgpu.h) to their containers: when kubelet is about to make one, its
// checkpoint says which container holds the ids and what the grant is called, and what that
// container may use is written. What a grant was bound to at first is pinned in the state
// directory, and holds for as long as the pod does, whatever the configuration says by then.
//
// Shared by all resources, and by the instances of the agent on the node: a grant's files are its
// own. Any thread; it waits for disks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/grant_pins.h"
#include "agent/grant_room.h"
#include "agent/pod_book.h"
#include "agent/pod_decision.h"
#include "base/clock.h"
#include "base/result.h"
#include "grant/cdi_document.h"
#include "grant/grant.h"
#include "grant/vgpu.h"
#include "kubelet/checkpoint.h"
#include "ledger/ledger.h"
#include "os/files.h"

namespace tessera::agent {

// By what a resource's grants are bound at a time.
struct Binding {
  const Offer& offer;
  const Rendering& rendering;
  std::string cdi_dir;  // as the agent sees it
  // As for CdiDocument. None as long as no scan of this process has found them: no document is
  // written then, for it would lack the driver, and let the pod's own variables name any GPU.
  const cdi::Parts* described = nullptr;
};

class GrantBinder {
 public:
  using Pods = std::map<std::string, PodPtr>;  // by the UID that kubelet knows them by

  // `device_plugins`: kubelet's directory of that name.
  GrantBinder(const std::string& device_plugins, const std::string& state_dir, os::Root root,
              std::shared_ptr<const PodBook> book, std::shared_ptr<GrantInbox> inbox,
              const Clock& clock = SystemClock())
      : checkpoint_(device_plugins + "/" + kubelet::kCheckpointFile),
        pins_(state_dir),
        root_(std::move(root)),
        book_(std::move(book)),
        inbox_(std::move(inbox)),
        clock_(clock) {}

  // A pod that has to be known before these ids can be bound, and is not among these; empty: none.
  Result<std::string> PodToKnow(const Binding& binding, const std::vector<std::string>& ids,
                                const Pods& pods);

  // All grants of the resource that have exactly these ids, in any order: an init container and
  // another one may both have them. Those of a plugin that was here before have no name, and are
  // as they are. kGrantUnknown where kubelet knows of none, kNoRoom where grants of former sizes
  // leave too little of a device, kNotEnforced without the library, kNotPlaced and kBadDecision as
  // ReadDecision, kStateLocked where another instance keeps granting, and why the devices cannot be
  // used; the container is then not to be made.
  Status Bind(const Binding& binding, const std::vector<std::string>& ids, const Pods& pods = {});
  // Tells the ledger what was bound before this process began.
  void TellLedger();
  // Whether there may be anything left of any grant.
  bool AnyBound() const { return pins_.any(); }
  // Whether a container was lately not made for want of room: who holds it may have ended without
  // kubelet having written so.
  bool AnyLacksRoom() const;
  // Removes what is left of grants that kubelet has forgotten, below these CDI directories as well.
  void RemoveForgotten(const std::set<std::string>& cdi_dirs);
  // The same of all grants, whether kubelet knows them or not: once no agent runs any more.
  Status RemoveAll(const std::set<std::string>& cdi_dirs);

 private:
  // What kubelet says that a container holds.
  struct Held {
    kubelet::CheckpointEntry entry;
    std::string name;                            // of its grant; empty: it has none
    std::optional<std::vector<VgpuPart>> parts;  // that Allocate said it has
    bool asked = false;                          // or that it has what its pod asks for
  };
  // Under binding_, as what follows.
  Result<const std::vector<Held>*> ReadCheckpoint();
  // Of the resource, with exactly these ids. kGrantUnknown where there are none.
  Result<std::vector<const Held*>> HeldWith(const Binding& binding,
                                            const std::vector<std::string>& ids);
  // Whether it was never bound.
  bool IsNew(const Held& held);
  Status CheckAlone(const Held& mine) const;
  Status BindOne(const Binding& binding, const Held& held, const Pods& pods);
  Result<Pin> PinFor(const Binding& binding, const Held& held, const Pods& pods);
  Result<Pin> StartedAgain(const Binding& binding, const Held& held, const Pin& pin);
  Result<Pin> PinOfShares(const Binding& binding, const Held& held);
  Result<Pin> PinOfRequest(const Binding& binding, const Held& held, const Pods& pods);
  static Result<std::vector<VgpuPart>> PartsOf(const Binding& binding, const Held& held);
  Result<Decision> Decide(const Binding& binding, const kube::Pod& pod);
  void Note(const Pin& pin) const;
  void Tell(const Binding& binding, const kube::Pod& pod, const Pin& pin) const;
  // What was decided for the pod when the first of its containers was bound; empty: none was.
  Result<Decision> FormerDecision(const kubelet::CheckpointEntry& entry);
  UsageByDevice TakenBeside(const Binding& binding, const Held& mine);
  PodPtr StateOf(const std::string& uid);
  UsageByDevice TakenByForeign(const Binding& binding, const std::string& pod_uid) const;
  Status CheckRoom(const Binding& binding, const Held& mine, const UsageByDevice& more);
  Status WriteDocument(const Binding& binding, const Pin& pin, const std::string& name) const;

  // The grants that kubelet knows.
  Result<std::set<std::string>> Live();
  void Remove(const std::string& name, const std::set<std::string>& cdi_dirs);

  const std::string checkpoint_;
  GrantPins pins_;
  const os::Root root_;
  const std::shared_ptr<const PodBook> book_;
  const std::shared_ptr<GrantInbox> inbox_;
  const Clock& clock_;
  // One container's grants are bound at a time, by a checkpoint that is read then: what there is
  // room for is granted once, and nobody renames another's half-written file.
  std::mutex binding_;
  std::optional<os::FileInfo> read_;  // of the checkpoint that is in held_; under binding_
  std::vector<Held> held_;            // likewise
  Pods outdated_;  // what the book had when a container was made that had ended by that; likewise
  std::atomic<int64_t> no_room_until_{INT64_MIN};  // milliseconds of `clock_`
  std::mutex removing_;
  std::map<std::string, Steady> forgotten_;  // grants, since when; under removing_
};

}  // namespace tessera::agent
