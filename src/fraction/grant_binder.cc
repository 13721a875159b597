// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_binder.h"

#include <algorithm>
#include <utility>

#include "backend/node_facts.h"
#include "base/log.h"
#include "base/text.h"
#include "cdi/cdi_file.h"
#include "fraction/grant_files.h"

namespace tessera {
namespace {

// Longer than kubelet's retry pause, so a refusal for lack of capacity counts until the next try.
constexpr Duration kLately{60'000};

constexpr std::string_view kNotStarted = "a container is not started";

// In the container's order.
std::vector<std::string> DevicesOf(const BindingRecord& record) {
  std::vector<std::string> devices;
  for (const Fraction& part : record.parts) devices.push_back(part.device);
  return devices;
}

// Retries cannot change these errors: kubelet keeps the answer to Allocate, and the pod keeps its
// annotations.
bool IsForGood(Reason reason) {
  return reason == Reason::kBadDecision || reason == Reason::kWrongMatch;
}

bool MayEvict(const Binding& binding, Reason reason) {
  return reason == Reason::kWrongMatch && binding.rendering.fractions->requests->evict_mismatched;
}

}  // namespace

// Also passes each new state of the checkpoint to the claims.
Result<HeldGrantsPtr> GrantBinder::ReadCheckpoint() {
  const MutexLock lock(told_mutex_);  // an older state must not overwrite a newer one
  Result<HeldGrantsPtr> read = checkpoint_.Read();
  if (IsOfUnknownShape(read)) {
    read = Fail(Reason::kInvalid, "its format is unknown{}; a newer agent may know it: {}",
                versions_ ? " (" + versions_() + ")" : "", read.error().message);
  }
  NoteShape(read);
  HeldGrantsPtr held = TRY(std::move(read));
  if (held == told_) return held;
  told_ = held;
  std::map<std::string, ContainerClaims::Answered> answered;
  for (const HeldGrant& one : held->all()) {
    answered[one.resource].insert({one.pod_uid, one.container});
  }
  context_->claims.SetHeld(std::move(answered));
  return held;
}

void GrantBinder::NoteShape(const Result<HeldGrantsPtr>& read) {
  const bool unknown = IsOfUnknownShape(read);
  if (!read && !unknown) return;  // unreadable: the shape is unknown
  if (shape_unknown_.exchange(unknown) == unknown) return;
  if (!unknown) return log::Info("kubelet's checkpoint has a known format again");
  log::Warn(
      "kubelet's checkpoint has an unknown format: containers with virtual GPUs do not start, and "
      "ended grants are not cleaned up. Running containers continue; install a newer agent",
      read.error());
}

// kGrantUnknown if the checkpoint has no such grant or cannot be read.
Result<HeldGrants::Matches> GrantBinder::FindGrants(const Result<HeldGrantsPtr>& held,
                                                    const Binding& binding,
                                                    const std::vector<std::string>& ids) {
  const std::string& resource = binding.offer.resource;
  if (!held) {
    return Fail(Reason::kGrantUnknown,
                "{}: kubelet's checkpoint does not identify the container: {}", resource,
                held.error().message);
  }
  const HeldGrants::Matches& found = (*held)->WithIds(resource, ids);
  if (!found.empty()) return found;
  return Fail(Reason::kGrantUnknown, "{}: no container in kubelet's checkpoint holds {}", resource,
              Join(ids, ","));
}

Result<std::string> GrantBinder::PodToKnow(const Binding& binding,
                                           const std::vector<std::string>& ids, const Pods& known) {
  if (!binding.rendering.fractions->requests) return "";
  const Result<HeldGrantsPtr> all = ReadCheckpoint();  // owns the grants that FindGrants returns
  for (const HeldGrant* held : TRY(FindGrants(all, binding, ids))) {
    const bool by_request = IsGrantName(held->name) && held->by_request();
    if (!by_request || known.contains(held->pod_uid)) continue;
    const auto record = store_.Find(held->name);
    if (record && *record == nullptr) return held->pod_uid;
  }
  return "";
}

Result<std::vector<Fraction>> GrantBinder::PartsOf(const Binding& binding,
                                                   const std::vector<std::string>& ids) {
  const Result<HeldGrantsPtr> all = ReadCheckpoint();  // owns the grants that FindGrants returns
  std::vector<Fraction> parts;
  for (const HeldGrant* held : TRY(FindGrants(all, binding, ids))) {
    if (!IsGrantName(held->name)) continue;
    const BindingRecordPtr record = TRY(store_.Find(held->name));
    if (record == nullptr) {
      return Fail(Reason::kGrantUnknown, "{}: grant {} is not bound", held->resource, held->name);
    }
    if (!parts.empty() && parts != record->parts) {
      return Fail(Reason::kBadDecision,
                  "{}: containers of pod {} have the same ids and different devices or sizes: let "
                  "one container of the pod ask for them",
                  held->resource, held->pod_uid);
    }
    parts = record->parts;
  }
  return parts;
}

// The first caller runs a batch for all queued requests. Requests that arrive during a batch form
// the next one. batch_mutex_ makes `deciding_` and the queue one state: otherwise a request could
// be queued after a batch's last look, and no batch would take it.
void GrantBinder::Bind(const Binding& binding, const std::vector<std::string>& ids,
                       const Pods& known, std::function<void(Status)> done) {
  {
    const MutexLock lock(batch_mutex_);
    waiting_.push_back(std::make_unique<BindRequest>(binding, ids, known, std::move(done)));
    if (std::exchange(deciding_, true)) return;
  }
  RunBatch();
}

// Only one batch runs at a time. If any request is new, it is decided under the lock of the
// records. The new records are then staged in parallel, because a disk syncs many in about the time
// of one.
void GrantBinder::RunBatch() {
  const auto batch = std::make_shared<Batch>();
  {
    const MutexLock lock(batch_mutex_);
    batch->requests.swap(waiting_);
  }
  DecideAll(batch->requests, batch->alone);
  const auto self = shared_from_this();
  workers_.ForEach(
      batch->requests.size(), [self, batch](size_t i) { self->StageRecords(*batch->requests[i]); },
      [self, batch] { self->FinishBatch(batch); });
}

void GrantBinder::StageRecords(BindRequest& request) const {
  for (const auto& [held, decided] : request.grants) {
    if (decided && decided->is_new) {
      request.records.emplace_back(held->name, store_.StageRecord(held->name, decided->record));
    }
  }
}

void GrantBinder::FinishBatch(const std::shared_ptr<Batch>& batch) {
  AddRecords(batch->requests);
  batch->alone.reset();
  const auto self = shared_from_this();
  {
    const MutexLock lock(batch_mutex_);
    deciding_ = !waiting_.empty();
    if (deciding_) workers_.Run([self] { self->RunBatch(); });
  }
  workers_.ForEach(
      batch->requests.size(),
      [self, batch](size_t i) {
        const BindRequest& request = *batch->requests[i];
        request.done(self->FinishRequest(request));
      },
      [] {});
}

Status GrantBinder::FinishRequest(const BindRequest& request) {
  if (!request.found) {
    EmitUnknown(request, request.found.error());
    return request.found;
  }
  for (const BindRequest::DecidedGrant& one : request.grants) {
    const Status bound = FinishGrant(request, one);
    if (!bound) {
      EmitRefused(request, *one.held, bound.error());
      return bound;
    }
    context_->events.EndRefusals(one.held->pod_uid, one.held->container);
  }
  return {};
}

void GrantBinder::Refuse(const Binding& binding, const std::vector<std::string>& ids,
                         const Pods& known, const Error& why) {
  const BindRequest request{.binding = binding, .ids = ids, .known = known};
  const Result<HeldGrantsPtr> all = ReadCheckpoint();  // owns the grants that FindGrants returns
  const auto found = FindGrants(all, binding, ids);
  if (!found) return EmitUnknown(request, why);
  EmitRefused(request, *found->front(), why);
}

void GrantBinder::EmitUnknown(const BindRequest& request, const Error& why) {
  const std::string& resource = request.binding.offer.resource;
  refusals_.LogRefusal(kNotStarted, why, why.message,
                       {{"resource", resource}, {"ids", Join(request.ids, ",")}});
  context_->events.RecordRefusal({.resource = resource, .error = why});
}

// A pod that the request waited for may have left the cache since.
std::string GrantBinder::NameIn(const BindRequest& request, const std::string& uid) const {
  const auto known = request.known.find(uid);
  return known == request.known.end() ? context_->pods.NameOf(uid) : known->second->FullName();
}

// The texts of one cause differ, for example by the free capacity, so pod and container identify
// the refusal.
void GrantBinder::EmitRefused(const BindRequest& request, const HeldGrant& held, const Error& why) {
  refusals_.LogRefusal(kNotStarted, why, fmt::format("{}/{}", held.pod_uid, held.container),
                       {{"resource", request.binding.offer.resource},
                        {"pod", NameIn(request, held.pod_uid)},
                        {"uid", held.pod_uid},
                        {"container", held.container}});
  context_->events.RecordRefusal({.pod_uid = held.pod_uid,
                                  .container = held.container,
                                  .resource = request.binding.offer.resource,
                                  .error = why});
  if (!request.binding.rendering.fractions->requests) return;
  context_->events.Refused({.pod_uid = held.pod_uid,
                            .container = held.container,
                            .error = why,
                            .for_good = IsForGood(why.reason),
                            .evict = MayEvict(request.binding, why.reason)});
}

void GrantBinder::DecideAll(Requests requests, std::optional<os::FileLock>& alone) {
  Result<HeldGrantsPtr> held = ReadCheckpoint();
  bool any_new = false;
  for (const auto& request : requests) any_new = LookUpGrants(*request, held) || any_new;
  std::optional<BindingStore::Names> written;
  Status locked;
  if (any_new) {
    locked = LockRecords(alone, written);
    // Another instance may have bound grants before this one got the lock, so checkpoint and
    // records are read again under it.
    held = ReadCheckpoint();
    for (const auto& request : requests)
      LookUpGrants(*request, held, written ? &*written : nullptr);
  }
  if (!held) return;
  ShareFiles(requests);
  StartBatch(*held, written ? &*written : nullptr);
  for (const auto& request : requests) {
    if (request->found && request->is_new && !locked) request->found = locked;
    if (request->found) DecideFor(*request);
  }
  placer_.EndBatch();
}

// Gives the placer the records and pods of all held grants.
void GrantBinder::StartBatch(HeldGrantsPtr held, const BindingStore::Names* written) {
  Placer::Records records;
  Placer::Pods pods;
  const auto know = [&](const std::string& uid) {
    const auto [pod, first] = pods.try_emplace(uid);
    if (first) pod->second = context_->pods.Find(uid);
  };
  for (const HeldGrant& one : held->all()) {
    know(one.pod_uid);
    if (!IsGrantName(one.name)) continue;
    const auto at = records.try_emplace(one.name, store_.Find(one.name, written)).first;
    const Result<BindingRecordPtr>& record = at->second;
    if (record && *record != nullptr) know((*record)->pod_uid);
  }
  placer_.StartBatch(std::move(held), std::move(records), std::move(pods));
}

Status GrantBinder::LockRecords(std::optional<os::FileLock>& alone,
                                std::optional<BindingStore::Names>& written) {
  alone.emplace(TRY(store_.Lock()));
  written = TRY(store_.Grants());
  return {};
}

// Makes the shared files once per configuration.
void GrantBinder::ShareFiles(Requests requests) const {
  std::map<const FractionRules*, Status> made;
  for (const auto& request : requests) {
    if (!request->found) continue;
    const FractionRules& fractions = *request->binding.rendering.fractions;
    const auto known = made.find(&fractions);
    request->shared = known != made.end() ? known->second
                                          : (made[&fractions] = MakeSharedFiles(root_, fractions));
  }
}

// Whether the placer may choose units anew for a container that starts again.
bool GrantBinder::MayGetOtherUnits(const BindingRecord& record) const {
  if (!record.HasUnits()) return false;
  const PodPtr pod = context_->pods.Find(record.pod_uid);
  return pod != nullptr && HasEnded(*pod, record.container);
}

// Finds the request's grants. True if the record of one of them is to be written.
bool GrantBinder::LookUpGrants(BindRequest& request, const Result<HeldGrantsPtr>& held,
                               const BindingStore::Names* written) {
  auto some = FindGrants(held, request.binding, request.ids);
  request.found = some ? Status() : Fail(some.error());
  request.is_new = false;
  if (!some) return false;
  request.held = *held;
  request.some = *std::move(some);
  request.is_new = std::ranges::any_of(request.some, [&](const HeldGrant* one) {
    if (!IsGrantName(one->name)) return false;
    const auto record = store_.Find(one->name, written);
    // An unreadable record counts as new: it may vanish.
    return !record || *record == nullptr || MayGetOtherUnits(**record);
  });
  return request.is_new;
}

void GrantBinder::DecideFor(BindRequest& request) {
  for (const HeldGrant* held : request.some) {
    if (held->name.empty()) continue;
    auto decided = placer_.Decide(request.binding, *held, request.known);
    if (decided && decided->is_new && !request.is_new) {
      decided = Fail(Reason::kGrantUnknown, "{}: container {} of pod {} has just ended: try again",
                     held->resource, held->container, held->pod_uid);
    }
    if (!decided && decided.error().reason == Reason::kNoRoom) {
      no_room_until_ = (clock_.Now() + kLately).time_since_epoch().count();
    }
    request.grants.push_back({held, std::move(decided)});
    if (!request.grants.back().decided) return;
  }
}

// Records must be on disk before any document names their grant. If one fails, every request for
// that grant fails.
void GrantBinder::AddRecords(Requests requests) {
  const auto fail = [&](const std::string& grant, const Error& why) {
    for (const auto& request : requests) {
      for (auto& [held, decided] : request->grants) {
        if (held->name == grant) decided = Fail(why);
      }
    }
  };
  std::vector<BindingStore::StagedRecord> records;
  for (const auto& request : requests) {
    for (auto& [grant, prepared] : request->records) {
      if (prepared) {
        records.push_back(*std::move(prepared));
      } else {
        fail(grant, prepared.error());
      }
    }
  }
  if (records.empty()) return;
  const std::vector<Status> added = store_.Add(records);
  for (size_t i = 0; i < added.size(); ++i) {
    if (!added[i]) fail(records[i].grant, added[i].error());
  }
}

Status GrantBinder::FinishGrant(const BindRequest& request, const BindRequest::DecidedGrant& one) {
  if (!one.decided) return Fail(one.decided.error());
  const Binding& binding = request.binding;
  const BindingRecord& record = *one.decided->record;
  if (one.decided->is_new) {
    log::Info("a grant is bound", {{"resource", record.resource},
                                   {"grant", one.held->name},
                                   {"pod", NameIn(request, record.pod_uid)},
                                   {"uid", record.pod_uid},
                                   {"container", record.container},
                                   {"parts", PartsText(record.parts)}});
    RecordDevices(record);
    // The pod of a container that starts again has been told of it.
    const auto pod = request.known.find(record.pod_uid);
    if (!record.placement.empty() && pod != request.known.end()) {
      EmitBound(binding, *pod->second, record);
    }
  }
  TRY(request.shared);
  TRY(MakeGrantFiles(root_, *binding.rendering.fractions, one.held->name, record,
                     one.held->answer));
  TrackTimes(one.held->name, record);
  const bool prepared = binding.rendering.fractions->prepared;  // the preparation has a document
  if (one.held->matched || prepared || !WritesCdi(binding.rendering)) return {};
  return WriteDocument(binding, record, one.held->name);
}

// Tracks a container's times by its region. A region of another library is tracked as one without a
// channel to its processes.
void GrantBinder::TrackTimes(const std::string& name, const BindingRecord& record) {
  times_.Add(name, root_.Path(record.directory), RegionNameOf(name), DevicesOf(record));
}

// Records the bound devices, which can differ from the devices of kubelet's shares.
void GrantBinder::RecordDevices(const BindingRecord& record) const {
  if (record.placement.empty()) return;
  inbox_->PutBound({.pod_uid = record.pod_uid,
                    .container = record.container,
                    .resource = record.resource,
                    .devices = DevicesOf(record),
                    .since = clock_.Now()});
}

void GrantBinder::TellLedger() {
  const auto grants = store_.Grants();
  if (!grants) return;
  for (const std::string& grant : *grants) {
    const auto record = store_.Find(grant);
    if (!record || *record == nullptr) continue;
    RecordDevices(**record);
    TrackTimes(grant, **record);
  }
}

std::vector<BoundContainer> GrantBinder::FormerContainers() {
  std::vector<BoundContainer> all;
  const auto grants = store_.Grants();
  if (!grants) return all;
  for (const std::string& grant : *grants) {
    const auto record = store_.Find(grant);
    if (!record || *record == nullptr || (*record)->placement.empty()) continue;
    all.push_back({.pod_uid = (*record)->pod_uid,
                   .container = (*record)->container,
                   .resource = (*record)->resource,
                   .parts = (*record)->parts,
                   .fitted = (*record)->fitted ? (*record)->placement : PodPlacement()});
  }
  return all;
}

void GrantBinder::EmitBound(const Binding& binding, const kube::Pod& pod,
                            const BindingRecord& record) const {
  const FractionRules& fractions = *binding.rendering.fractions;
  const auto own = std::ranges::find(record.placement, record.container, &PlacedContainer::name);
  BoundContainer bound{.pod_uid = record.pod_uid,
                       .container = record.container,
                       .resource = record.resource,
                       .parts = record.parts};
  if (record.fitted) {
    bound.fitted = record.placement;
  } else {
    bound.less = ShortfallOf(pod, RulesOf(record.resource, *fractions.requests),
                             CapacitiesOf(binding.offer, fractions), *own);
  }
  context_->events.Bound(bound);
}

Status GrantBinder::WriteDocument(const Binding& binding, const BindingRecord& record,
                                  const std::string& name) {
  const std::string path = binding.cdi_dir + "/" + GrantFileName(name);
  documents_.Renew(path);
  if (binding.described == nullptr) {
    // Without the kind's parts a document cannot be made, but a former one is complete.
    const auto on_disk = os::ReadFile(path);
    if (on_disk && IsCdiDocumentOf(GrantCdiKind(binding.rendering), *on_disk)) return {};
    return Fail(Reason::kNotChecked,
                "{}: the agent has not found the driver's files since it started; kubelet retries "
                "by itself",
                binding.offer.resource);
  }
  const FractionRules& fractions = *binding.rendering.fractions;
  const FractionGrant grant{
      .name = name,
      .directory = record.directory,
      .parts = record.parts,
      .controlled = record.controlled,
      .licensed = IsLicensed(root_, fractions),
      .library = LibraryOf(root_, fractions, record),
      .locked = FormerWantsLock(root_, fractions, record),
      .has_no_limits = os::Exists(root_.Path(NoLimitsFileOf(fractions, name)))};
  cdi::Document document =
      TRY(FractionDocument(binding.offer, binding.rendering, grant, binding.described));
  for (cdi::Node& node : document.devices.front().edits.nodes) {
    if (node.type.empty()) DescribeNode(root_.prefix(), node);
  }
  return PutCdiDocument(path, cdi::Text(document));
}

bool GrantBinder::AnyLacksCapacity() const {
  return clock_.Now().time_since_epoch().count() < no_room_until_;
}

Result<std::set<std::string>> GrantBinder::LiveGrants() {
  const HeldGrantsPtr all = TRY(ReadCheckpoint());
  std::set<std::string> live;
  for (const HeldGrant& held : all->all()) live.insert(held.name);
  return live;
}

}  // namespace tessera
