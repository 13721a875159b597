// SPDX-License-Identifier: Apache-2.0
// The grant binder: binds late grants (grant/fraction.h) to their containers. When kubelet is about
// to make a container, its checkpoint says which container holds the ids, and the grant's name. The
// binder decides what the container may use, records that in the state directory, and writes its
// files and CDI document, in this order. The first binding holds for the pod's life, whatever the
// configuration becomes. Each step can be repeated after a crash (docs/explain/grants.md).
//
// Made by GrantKeeper, shared with the allocators of all resources. Instances of the agent on the
// node share the files; BindingStore::Lock orders them. Any thread; waits for disks.
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
#include <string_view>
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

  // `device_plugins`: kubelet's directory of that name. `versions`: the text with kubelet's and the
  // agent's version, for the error of an unknown checkpoint.
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

  // Whether the last read checkpoint had a shape that this agent does not know. Until a newer agent
  // runs, no container is made, and what is bound stays.
  bool IsShapeUnknown() const { return shape_unknown_; }
  // The UID of a pod that Bind needs for these ids and `known` lacks; empty: none.
  Result<std::string> PodToKnow(const Binding& binding, const std::vector<std::string>& ids,
                                const Pods& known);

  // Binds all grants of the resource with exactly these ids (HeldGrants::WithIds). Grants without a
  // name are of another plugin and stay as they are.
  //
  // An error means that the container must not be made; it is logged, and kubelet retries:
  // - kGrantUnknown: kubelet's checkpoint has no such grant;
  // - kNoRoom: other grants leave too little of a device;
  // - kNotEnforced: the library is missing;
  // - kNotPlaced, kBadDecision, kBadSize: as ReadPlacement and FitPlacement;
  // - kStateLocked: another instance keeps the lock;
  // - others: why the devices cannot be used.
  //
  // What `binding` refers to must live until `done`, which runs on this thread or a worker.
  void Bind(const Binding& binding, const std::vector<std::string>& ids, const Pods& known,
            std::function<void(Status)> done);
  // What the grants with these ids were bound to. Empty: they are of another plugin. kBadDecision:
  // they differ, so one preparation cannot serve them.
  Result<std::vector<Fraction>> PartsOf(const Binding& binding,
                                        const std::vector<std::string>& ids);
  // Tells of a container that Bind was good for and that is refused all the same, as Bind tells of
  // its own refusals.
  void Refuse(const Binding& binding, const std::vector<std::string>& ids, const Pods& known,
              const Error& why);
  // After a start: gives the ledger what was bound before this process, and follows its compute
  // time.
  void TellLedger();
  // Gives the claims the containers that kubelet has asked for, also from another agent.
  void TellClaims() { (void)ReadCheckpoint(); }
  // The containers bound to what their pods ask for, for the code that reports to schedulers.
  std::vector<BoundContainer> FormerContainers();
  // The records that this process knows. From memory.
  BindingStore::Known KnownGrants() const { return store_.known(); }
  bool HasGrant(std::string_view pod_uid) const { return store_.HasGrant(pod_uid); }
  // Whether any grant may have left files.
  bool AnyBound() const { return store_.any(); }
  // Whether a container was recently refused for lack of room. Its holders may have ended without
  // kubelet's checkpoint saying so yet.
  bool AnyLacksCapacity() const;
  // Removes the files of grants that kubelet has forgotten, their documents in these CDI
  // directories, and documents that no runtime needs any more. `containers`: the parents of
  // container directories, where earlier agents may have left some.
  void RemoveForgotten(const std::set<std::string>& cdi_dirs,
                       const std::set<std::string>& containers = {});
  // The same for all grants, known to kubelet or not. Only once no agent runs any more.
  Status RemoveAll(const std::set<std::string>& cdi_dirs,
                   const std::set<std::string>& containers = {});
  // Cuts back container directories that are over a bound. nullopt: no look, because too many
  // threads are at one.
  std::optional<GrantSpace::SpaceReport> LookAtSpace(const std::set<std::string>& containers = {});
  // How many directories of ended containers could not be removed.
  size_t stuck() const { return leftovers_.stuck(); }

 private:
  // One container that is about to be made, with its grants.
  struct BindRequest {
    const Binding binding;
    const std::vector<std::string> ids;
    const Pods known;
    const std::function<void(Status)> done{};
    Status found{};  // error: kubelet does not say which container it is
    HeldGrantsPtr held{};
    HeldGrants::Matches some{};
    bool is_new = false;
    Status shared{};  // error: the shared directories and files are missing
    // Decisions, up to the first refusal.
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
    std::optional<os::FileLock> alone;  // held until all records are in their places
  };
  void RunBatch();
  void StageRecords(BindRequest& request) const;
  void FinishBatch(const std::shared_ptr<Batch>& batch);
  static Result<HeldGrants::Matches> FindGrants(const Result<HeldGrantsPtr>& held,
                                                const Binding& binding,
                                                const std::vector<std::string>& ids);
  // These run on one thread at a time: the one that has set deciding_.
  void DecideAll(Requests requests, std::optional<os::FileLock>& alone);
  void StartBatch(HeldGrantsPtr held, const BindingStore::Names* written);
  Status LockRecords(std::optional<os::FileLock>& alone,
                     std::optional<BindingStore::Names>& written);
  void ShareFiles(Requests requests) const;
  bool MayGetOtherUnits(const BindingRecord& record) const;
  bool LookUpGrants(BindRequest& request, const Result<HeldGrantsPtr>& held,
                    const BindingStore::Names* written = nullptr);
  void DecideFor(BindRequest& request);
  void AddRecords(Requests requests);
  // These run on any thread.
  Status FinishRequest(const BindRequest& request);
  Status FinishGrant(const BindRequest& request, const BindRequest::DecidedGrant& one);
  std::string NameIn(const BindRequest& request, const std::string& uid) const;
  // kubelet does not say which container it is.
  void EmitUnknown(const BindRequest& request, const Error& why);
  void EmitRefused(const BindRequest& request, const HeldGrant& held, const Error& why);
  void TrackTimes(const std::string& name, const BindingRecord& record);
  void RecordDevices(const BindingRecord& record) const;
  void EmitBound(const Binding& binding, const kube::Pod& pod, const BindingRecord& record) const;
  Status WriteDocument(const Binding& binding, const BindingRecord& record,
                       const std::string& name);

  Result<HeldGrantsPtr> ReadCheckpoint();
  void NoteShape(const Result<HeldGrantsPtr>& read);
  // The names of the grants in kubelet's checkpoint.
  Result<std::set<std::string>> LiveGrants();
  void ForgetEnded(const std::set<std::string>& cdi_dirs);
  Status ForgetGrant(const std::string& name, const std::set<std::string>& cdi_dirs);
  // Grants whose pods have ended, though kubelet's checkpoint may still have them.
  std::set<std::string> EndedGrants() const;
  std::set<std::string> ContainersOf(const std::set<std::string>& configured);

  const std::function<std::string()> versions_;
  std::atomic<bool> shape_unknown_ = false;
  CheckpointFile checkpoint_;
  Mutex told_mutex_;
  HeldGrantsPtr told_ TESSERA_GUARDED_BY(told_mutex_);  // the checkpoint that the claims last got
  BindingStore store_;
  GrantTimesThread times_;
  const os::Root root_;
  const std::shared_ptr<BindContext> context_;
  const std::shared_ptr<GrantInbox> inbox_;
  const Clock& clock_;
  Refusals refusals_;
  // Grants are decided in batches. A batch has all containers that wait, and uses one state of
  // kubelet's checkpoint, so that room is granted once. The instances' lock and the disk are waited
  // for once a batch.
  Placer placer_;  // used by the thread that has set deciding_
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
  // As many threads as wait for a disk at once. A request that waits for another agent holds none.
  os::Workers workers_{64};
};

}  // namespace tessera
