// SPDX-License-Identifier: Apache-2.0
// Binds late grants (grant/fraction.h) to their containers: when kubelet is about to make one, its
// checkpoint says which container holds the ids and what the grant is called, and what that
// container may use is written. What a grant was bound to at first is recorded in the state
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
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "binding/binding_store.h"
#include "binding/held_grants.h"
#include "binding/refusals.h"
#include "fraction/bind_context.h"
#include "fraction/grant_documents.h"
#include "fraction/grant_space.h"
#include "fraction/grant_times_thread.h"
#include "fraction/leftovers.h"
#include "fraction/placer.h"
#include "kubelet/checkpoint.h"
#include "ledger/ledger.h"
#include "os/files.h"
#include "os/worker.h"

namespace tessera {

class GrantBinder : public std::enable_shared_from_this<GrantBinder> {
 public:
  using Pods = Placer::Pods;

  // `device_plugins`: kubelet's directory of that name. `versions`: kubelet's and the agent's, for
  // people, where one does not know what the other writes.
  GrantBinder(const std::string& device_plugins, const std::string& state_dir, os::Root root,
              std::shared_ptr<BindContext> context, std::shared_ptr<GrantInbox> inbox,
              const Clock& clock = SystemClock(), std::function<std::string()> versions = {})
      : versions_(std::move(versions)),
        checkpoint_(device_plugins + "/" + kubelet::kCheckpointFile),
        store_(state_dir),
        root_(std::move(root)),
        context_(std::move(context)),
        inbox_(std::move(inbox)),
        clock_(clock),
        refusals_(clock) {}

  // Whether kubelet's checkpoint is of a shape that nobody here knows, as of the last look at it.
  // Until a newer agent is here no container is made; what is bound stays as it is.
  bool IsShapeUnknown() const { return shape_unknown_; }
  // The UID of a pod that has to be known before these ids can be bound, and is not among `known`;
  // empty: none.
  Result<std::string> PodToKnow(const Binding& binding, const std::vector<std::string>& ids,
                                const Pods& known);

  // All grants of the resource that have exactly these ids (HeldGrants::WithIds). Those of a plugin
  // that was here before have no name, and are as they are. kGrantUnknown where kubelet knows of
  // none, kNoRoom where grants of former sizes leave too little of a device, kNotEnforced without
  // the library, kNotPlaced, kBadDecision and kBadSize as ReadPlacement and FitPlacement,
  // kStateLocked where another instance keeps granting, and why the devices cannot be used; the
  // container is then not to be made, and the log is told. What `binding` refers to lives until
  // `done`, which is called by a thread of its own or this one.
  void Bind(const Binding& binding, const std::vector<std::string>& ids, const Pods& known,
            std::function<void(Status)> done);
  // Tells the ledger what was bound before this process began, and follows its compute time.
  void TellLedger();
  // Tells the claims for whom kubelet has asked by now, another agent as well.
  void TellClaims() { (void)ReadCheckpoint(); }
  // The containers that were bound to what their pods ask for, for who tells their scheduler.
  std::vector<BoundContainer> FormerContainers();
  // The grants that were bound, as far as this process knows them: waits for no disk.
  BindingStore::Known KnownGrants() const { return store_.known(); }
  // Whether there may be anything left of any grant.
  bool AnyBound() const { return store_.any(); }
  // Whether a container was lately not made for want of room: who holds it may have ended without
  // kubelet having written so.
  bool AnyLacksCapacity() const;
  // Removes what is left of grants that kubelet has forgotten, below these CDI directories as well,
  // what former ones have left in `containers`, which have the directories of containers, and
  // documents that no runtime needs any more.
  void RemoveForgotten(const std::set<std::string>& cdi_dirs,
                       const std::set<std::string>& containers = {});
  // The same of all grants, whether kubelet knows them or not: once no agent runs any more.
  Status RemoveAll(const std::set<std::string>& cdi_dirs,
                   const std::set<std::string>& containers = {});
  // Cuts back what containers have written into theirs; nothing: another thread is at it.
  std::optional<GrantSpace::SpaceReport> LookAtSpace(const std::set<std::string>& containers = {});
  // Directories of ended containers that could not be removed.
  size_t stuck() const { return leftovers_.stuck(); }

 private:
  // A container that is about to be made, and what became of its grants.
  struct BindRequest {
    const Binding binding;
    const std::vector<std::string> ids;
    const Pods known;
    const std::function<void(Status)> done{};
    Status found{};  // that kubelet says which container it is
    HeldGrantsPtr held{};
    HeldGrants::Matches some{};
    bool is_new = false;
    Status shared{};  // that the files of all containers are there
    // Up to the first that is refused.
    struct DecidedGrant {
      const HeldGrant* held;
      Result<Placer::Decision> decided;
    };
    std::vector<DecidedGrant> grants{};
    std::vector<std::pair<std::string, Result<BindingStore::StagedRecord>>>
        records{};  // of the new ones
  };
  using Requests = std::span<const std::unique_ptr<BindRequest>>;
  struct Batch {
    std::vector<std::unique_ptr<BindRequest>> requests;
    std::optional<os::FileLock> alone;  // until all records are there
  };
  void RunBatch();
  void StageRecords(BindRequest& request) const;
  void FinishBatch(const std::shared_ptr<Batch>& batch);
  static Result<HeldGrants::Matches> FindGrants(const Result<HeldGrantsPtr>& held,
                                                const Binding& binding,
                                                const std::vector<std::string>& ids);
  // One thread at a time, as what follows.
  void DecideAll(Requests requests, std::optional<os::FileLock>& alone);
  void StartBatch(HeldGrantsPtr held, const BindingStore::Names* written);
  Status LockRecords(std::optional<os::FileLock>& alone,
                     std::optional<BindingStore::Names>& written);
  void ShareFiles(Requests requests) const;
  bool LookUpGrants(BindRequest& request, const Result<HeldGrantsPtr>& held,
                    const BindingStore::Names* written = nullptr);
  void DecideFor(BindRequest& request);
  void AddRecords(Requests requests);
  // Any thread again.
  Status FinishRequest(const BindRequest& request);
  Status FinishGrant(const BindRequest& request, const BindRequest::DecidedGrant& one);
  std::string NameIn(const BindRequest& request, const std::string& uid) const;
  void EmitRefused(const BindRequest& request, const HeldGrant& held, const Error& why);
  void TrackTimes(const std::string& name, const BindingRecord& record);
  void RecordDevices(const BindingRecord& record) const;
  void EmitBound(const Binding& binding, const kube::Pod& pod, const BindingRecord& record) const;
  Status WriteDocument(const Binding& binding, const BindingRecord& record,
                       const std::string& name);

  Result<HeldGrantsPtr> ReadCheckpoint();
  void NoteShape(const Result<HeldGrantsPtr>& read);
  // The grants that kubelet knows.
  Result<std::set<std::string>> LiveGrants();
  void ForgetEnded(const std::set<std::string>& cdi_dirs);
  Status ForgetGrant(const std::string& name, const std::set<std::string>& cdi_dirs);
  // Whose pods are known to have ended, though kubelet's checkpoint may have them still.
  std::set<std::string> EndedGrants() const;
  std::set<std::string> ContainersOf(const std::set<std::string>& configured);

  const std::function<std::string()> versions_;
  std::atomic<bool> shape_unknown_ = false;
  CheckpointFile checkpoint_;
  Mutex told_mutex_;
  HeldGrantsPtr told_ TESSERA_GUARDED_BY(told_mutex_);  // to the claims
  BindingStore store_;
  GrantTimesThread times_;
  const os::Root root_;
  const std::shared_ptr<BindContext> context_;
  const std::shared_ptr<GrantInbox> inbox_;
  const Clock& clock_;
  Refusals refusals_;
  // Grants are decided in batches, a batch by what kubelet's checkpoint says then: what there is
  // room for is granted once. Of many containers at once a batch has all that wait, so that the
  // instances' lock and the disk are waited for once.
  Placer placer_;  // by whom has set deciding_
  Mutex batch_mutex_;
  std::vector<std::unique_ptr<BindRequest>> waiting_ TESSERA_GUARDED_BY(batch_mutex_);
  bool deciding_ TESSERA_GUARDED_BY(batch_mutex_) = false;
  std::atomic<int64_t> no_room_until_{INT64_MIN};  // milliseconds of `clock_`
  GrantDocuments documents_{clock_};
  Mutex removing_;
  std::map<std::string, Steady> forgotten_ TESSERA_GUARDED_BY(removing_);  // grants, since when
  Mutex containers_mutex_;
  std::set<std::string> containers_
      TESSERA_GUARDED_BY(containers_mutex_);  // as RemoveForgotten has them
  Leftovers leftovers_{clock_};
  GrantSpace space_{store_, root_};
  // As many as wait for a disk at once. Whoever waits for another agent holds none.
  os::Workers workers_{64};
};

}  // namespace tessera
