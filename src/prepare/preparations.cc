// SPDX-License-Identifier: Apache-2.0
#include "prepare/preparations.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backend/node_facts.h"
#include "base/log.h"
#include "base/text.h"
#include "binding/binding_store.h"
#include "cdi/cdi_file.h"
#include "grant/fraction.h"
#include "grant/grant.h"
#include "kubelet/checkpoint.h"

namespace tessera {
namespace {

template <class A, class B>
bool Meet(const A& some, const B& others) {
  return std::ranges::any_of(
      some, [&](const std::string& one) { return std::ranges::count(others, one) > 0; });
}

bool IsOwn(const Preparation& entry, const Preparation& wanted) {
  return entry.resource == wanted.resource && Meet(entry.grants, wanted.grants);
}

// Shares of a grant with parts do not say which devices it has, so other pods' entries for the same
// shares may be of other devices.
bool SameShares(const Preparation& entry, const Preparation& wanted, bool has_parts) {
  if (entry.resource != wanted.resource) return false;
  if (IsOwn(entry, wanted)) return true;
  const bool of_them =
      !has_parts || entry.pod_uid == wanted.pod_uid || Meet(entry.devices, wanted.devices);
  return of_them && Meet(entry.share_ids, wanted.share_ids);
}

// True if `entry`, which has other shares, blocks a device of `wanted`. Shares of one device that
// are all offered do not block each other: each is prepared for its own grant. Nor do parts, whose
// shares may be of any device.
bool SharesDevice(const Preparation& entry, const Preparation& wanted, bool has_parts,
                  const Offer& offer) {
  if (entry.resource != wanted.resource || !Meet(entry.devices, wanted.devices)) {
    return Meet(entry.hardware, wanted.hardware);
  }
  if (has_parts) return false;
  return entry.share_ids.empty() ||
         !std::ranges::all_of(entry.share_ids, [&](const std::string& id) {
           return offer.shares.Find(id) != nullptr;
         });
}

cdi::Document DocumentOf(const std::string& kind, const std::string& grant, cdi::Edits edits) {
  return cdi::Tidy({.kind = kind, .devices = {{.name = grant, .edits = std::move(edits)}}});
}

}  // namespace

void Preparations::Open(const std::string& device_plugins) {
  const MutexLock lock(mutex_);
  checkpoint_ = std::make_shared<CheckpointFile>(device_plugins + "/" + kubelet::kCheckpointFile);
}

bool Preparations::IsLoaded() const {
  const MutexLock lock(mutex_);
  return lock_.has_value();
}

// The loop's thread takes mutex_, so no thread waits for a disk under it. loading_ keeps two
// threads from loading at once.
Status Preparations::Load() {
  const MutexLock loading(loading_);
  if (IsLoaded()) return {};
  os::FileLock taken = TRY(journal_.Lock());
  const std::string boot_id = TRY(os::ReadBootId());
  Journal::Contents contents = TRY(journal_.Read());
  for (const auto& [grant, unread] : contents.unreadable) {
    log::LogError("cannot read a grant's preparation, so it is not undone", unread.why,
                  {{"grant", grant}});
  }
  {
    const MutexLock lock(mutex_);
    boot_id_ = boot_id;
    for (Preparation& entry : contents.entries) TakeIn(std::move(entry));
    unreadable_ = std::move(contents.unreadable);
    lock_.emplace(std::move(taken));
  }
  changed_();
  return {};
}

void Preparations::TakeIn(Preparation entry) {
  Item item{.entry = std::move(entry)};
  if (item.entry.step == PrepareStep::kUnpreparing) {
    item.trouble = Error{Reason::kNotUnprepared,
                         "it was not restored after its last container: the agent ended first"};
  } else if (item.entry.boot_id != boot_id_) {
    item.entry.step = PrepareStep::kPreparing;
  }
  std::string grant = item.entry.grant;
  items_.emplace(std::move(grant), std::move(item));
}

void Preparations::Begin(Start start) {
  auto job = Claim(start);
  if (!job) return start.done(Fail(job.error()));
  if (*job == nullptr) return start.done({});
  const std::string about =
      start.binding.offer.resource + ": device " + Join((*job)->entry.devices, ",");
  auto call = std::make_shared<Call>();
  call->deadline = clock_.Now() - start.waited + kDeadline;
  call->wanted = std::move(start.wanted);
  call->done = std::move(start.done);
  call->about = about;
  (*job)->call = call;
  {
    const MutexLock lock(mutex_);
    calls_.insert(call);
  }
  changed_();
  workers_.Run([self = shared_from_this(), job = *job] { self->Run(*job); });
}

// The set is sorted, so the first grant names the same entry in every call.
Result<Preparations::Named> Preparations::NamedFor(const Start& start) {
  const std::string& resource = start.binding.offer.resource;
  std::shared_ptr<CheckpointFile> checkpoint;
  {
    const MutexLock lock(mutex_);
    checkpoint = checkpoint_;
  }
  const Result<HeldGrantsPtr> held =
      checkpoint != nullptr ? checkpoint->Read()
                            : Fail(Reason::kKubeletAbsent, "kubelet has not written it");
  if (!held) {
    return Fail(Reason::kGrantUnknown,
                "{}: kubelet's checkpoint does not identify the container: {}", resource,
                held.error().message);
  }
  const HeldGrants::Matches& some = (*held)->WithIds(resource, start.share_ids);
  if (some.empty()) {
    return Fail(Reason::kGrantUnknown, "{}: no container in kubelet's checkpoint holds {}",
                resource, Join(start.share_ids, ","));
  }
  Named named;
  for (const HeldGrant& one : (*held)->all()) named.live.insert(one.prepared);
  for (const HeldGrant* one : some) {
    if (!IsGrantName(one->prepared)) continue;
    named.grants.insert(one->prepared);
    named.pod_uid = one->pod_uid;
  }
  return named;
}

// Null: the grants have no name.
Result<std::shared_ptr<Preparations::Job>> Preparations::Claim(const Start& start) {
  TRY(Load());
  const auto job = std::make_shared<Job>();
  Preparation& entry = job->entry;
  const Named named = TRY(NamedFor(start));
  if (named.grants.empty()) return nullptr;
  entry.grant = *named.grants.begin();
  entry.grants.assign(named.grants.begin(), named.grants.end());
  entry.pod_uid = named.pod_uid;
  const Status described = Describe(start, *job);
  const MutexLock lock(mutex_);
  for (const std::string& grant : entry.grants) {
    const auto unread = unreadable_.find(grant);
    if (unread != unreadable_.end()) return Fail(unread->second.why);
  }
  const auto own = std::ranges::find_if(items_, [&](const auto& one) {
    const Item& item = one.second;
    return IsOwn(item.entry, entry) && item.entry.step == PrepareStep::kPrepared && !item.busy;
  });
  if (own != items_.end()) {
    ClaimPrepared(own->second, *job);
    return job;
  }
  TRY(CheckReadable(entry));
  const std::vector<Item*> former = TRY(InTheWay(start, entry, named));
  if (!described) return Fail(described.error());
  entry.boot_id = boot_id_;
  for (Item* item : former) {
    item->busy = true;
    job->former.push_back(item->entry.grant);
  }
  if (former.empty()) items_.emplace(entry.grant, Item{.entry = entry, .busy = true});
  return job;
}

void Preparations::ClaimPrepared(Item& item, Job& job) {
  item.busy = true;
  const std::vector<std::string> grants = std::exchange(job.entry, item.entry).grants;
  job.is_prepared = true;
  for (const std::string& grant : grants) {
    if (std::ranges::count(job.entry.grants, grant) > 0) continue;
    job.entry.grants.push_back(grant);
    job.is_news = true;
  }
}

Status Preparations::CheckReadable(const Preparation& wanted) const {
  for (const auto& [grant, unread] : unreadable_) {
    const bool of_it = unread.resource == wanted.resource &&
                       (unread.devices.empty() || Meet(unread.devices, wanted.devices));
    if (unread.resource.empty() || of_it || Meet(unread.hardware, wanted.hardware)) {
      return Fail(unread.why);
    }
  }
  return {};
}

// If kubelet grants a share again, its former container has ended, so that entry may be undone.
// That is not true of a device: another container may hold other shares of it, under their former
// ids. So a live grant with other shares is a refusal.
Result<std::vector<Preparations::Item*>> Preparations::InTheWay(const Start& start,
                                                                const Preparation& wanted,
                                                                const Named& named) {
  const bool has_parts = !start.parts.empty();
  std::vector<Item*> met;
  for (auto& [grant, item] : items_) {
    const Preparation& entry = item.entry;
    const bool same_shares = SameShares(entry, wanted, has_parts);
    if (!same_shares && !SharesDevice(entry, wanted, has_parts, start.binding.offer)) continue;
    if (item.busy) {
      const bool undone = entry.step == PrepareStep::kUnpreparing;
      return Fail(undone ? Reason::kNotUnprepared : Reason::kPrepareTimedOut,
                  "{}: device {} is still being {}", entry.resource, Join(entry.devices, ","),
                  undone ? "restored after an earlier container" : "made ready");
    }
    if (!same_shares && Meet(entry.grants, named.live)) {
      return Fail(
          Reason::kNotUnprepared,
          "{}: device {} belongs to another container until pod {} has ended, which holds {} of {}",
          wanted.resource, Join(wanted.devices, ","), entry.pod_uid, Join(entry.share_ids, ","),
          entry.resource);
    }
    met.push_back(&item);
  }
  return met;
}

std::vector<std::string> Preparations::HardwareOf(const Device& device,
                                                  const Preparation& entry) const {
  std::vector<std::string> hardware = device.traits->takes;
  const MutexLock lock(mutex_);
  const auto served = served_.find({entry.resource, entry.preparer});
  if (served != served_.end() && served->second.ids_are_of_hardware) {
    hardware.push_back(device.key.id);
  }
  return hardware;
}

// The devices of a start in the offer, with the part of each, if it has parts.
Result<std::map<uint32_t, Fraction>> Preparations::PositionsOf(const Start& start) {
  const Offer& offer = start.binding.offer;
  std::map<uint32_t, Fraction> positions;
  for (const Fraction& part : start.parts) {
    const auto position = offer.PositionOf(part.device);
    if (!position) {
      return Fail(Reason::kVanished, "{}: device {} no longer exists", offer.resource, part.device);
    }
    positions.emplace(*position, part);
  }
  if (!positions.empty()) return positions;
  for (const std::string& id : start.share_ids) {
    const Share* share = offer.shares.Find(id);
    if (share == nullptr) {
      return Fail(Reason::kVanished, "{}: the device of {} no longer exists", offer.resource, id);
    }
    positions.try_emplace(share->device);
  }
  return positions;
}

// Sets the entry's identity first. The parts that need the offer come last, and may fail.
Status Preparations::Describe(const Start& start, Job& job) const {
  const Binding& binding = start.binding;
  const Offer& offer = binding.offer;
  job.entry.resource = offer.resource;
  job.entry.preparer = start.backend->preparer()->name();
  job.entry.share_ids = start.share_ids;
  std::ranges::sort(job.entry.share_ids, NaturalLess());
  if (start.undescribed) {
    return Fail(Reason::kNotChecked,
                "{}: the agent has not found the driver's files since it started; kubelet retries "
                "by itself",
                offer.resource);
  }
  const std::map<uint32_t, Fraction> positions = TRY(PositionsOf(start));
  job.backend = start.backend;
  if (binding.described != nullptr) job.base = binding.described->common;
  for (const auto& [position, part] : positions) {
    const Device& device = offer.devices[position];
    job.devices.push_back(device);
    if (!start.parts.empty()) job.parts.push_back(part);
    job.entry.devices.push_back(device.key.id);
    std::ranges::copy(HardwareOf(device, job.entry), std::back_inserter(job.entry.hardware));
    cdi::Append(CdiEditsOf(device, binding.rendering, binding.described), job.base);
  }
  job.entry.cdi_dir = binding.cdi_dir;
  job.entry.cdi_kind = GrantCdiKind(binding.rendering);
  return {};
}

// If nothing serves the preparer any more, nobody can tell what its grants hold.
Status Preparations::Confirm(const Job& job) {
  const Preparation& entry = job.entry;
  Status confirmed;
  if (const std::shared_ptr<Backend> backend = BackendFor(entry)) {
    confirmed = backend->preparer()->CheckHeld(entry.grant, entry.prepared);
    if (!confirmed) confirmed = Fail(confirmed.error().In(job.call->about));
  }
  if (confirmed && job.is_news) confirmed = Wrote(journal_.Write(entry));
  if (confirmed) confirmed = PutDocuments(entry);
  const MutexLock lock(mutex_);
  Item& item = items_.at(entry.grant);
  item.busy = false;
  if (confirmed) item.entry = entry;
  return confirmed;
}

void Preparations::Run(const Job& job) {
  Status status = job.is_prepared ? Confirm(job) : UndoFormer(job);
  if (status && !job.is_prepared) status = Prepare(job);
  Answer(*job.call, std::move(status));
  changed_();
}

// Other calls must not claim the devices in between. So one critical section removes the former
// entries and adds the new one.
Status Preparations::UndoFormer(const Job& job) {
  if (job.former.empty()) return {};
  std::set<std::string> gone;
  Status status;
  for (const std::string& grant : job.former) {
    status = Undo(grant);
    if (!status) break;
    gone.insert(grant);
  }
  const MutexLock lock(mutex_);
  for (const std::string& grant : job.former) {
    if (gone.contains(grant)) {
      items_.erase(grant);
    } else {
      items_.at(grant).busy = false;
    }
  }
  if (status) items_.emplace(job.entry.grant, Item{.entry = job.entry, .busy = true});
  return status;
}

Status Preparations::Prepare(const Job& job) {
  Preparation entry = job.entry;
  const auto late =
      Fail(Reason::kPrepareTimedOut, "{} was not made ready in time", job.call->about);
  Status status = IsWanted(*job.call) ? Wrote(journal_.Write(entry)) : late;
  if (!status) {
    (void)journal_.Remove(entry.grant);
    Leave(entry.grant, true);
    return status;
  }
  const PrepareRequest request{
      .grant = entry.grant,
      .pod_uid = entry.pod_uid,
      .share_ids = entry.share_ids,
      .devices = job.devices,
      .parts = job.parts,
      .deadline = job.call->deadline,
      .wanted = [self = shared_from_this(), call = job.call] { return self->IsWanted(*call); }};
  Result<Prepared> prepared = job.backend->preparer()->Prepare(request);
  if (!prepared) {
    status = Fail(Reason::kNotPrepared, "{} could not be made ready: {}", job.call->about,
                  prepared.error().message);
  } else {
    status = IsWanted(*job.call) ? Keep(job, *std::move(prepared), entry) : late;
  }
  {
    const MutexLock lock(mutex_);
    items_.at(entry.grant).entry = entry;
  }
  if (!status) {
    const Status undone = Undo(entry.grant);
    Leave(entry.grant, undone.has_value());
    return status;
  }
  log::Info("a grant is prepared", {{"resource", entry.resource},
                                    {"grant", entry.grant},
                                    {"uid", entry.pod_uid},
                                    {"devices", Join(entry.devices, ",")}});
  status = PutDocuments(entry);
  Leave(entry.grant, false);
  return status;
}

Status Preparations::Keep(const Job& job, Prepared prepared, Preparation& entry) {
  entry.prepared = std::move(prepared);
  cdi::Edits edits = job.base;
  cdi::Append(entry.prepared.edits, edits);
  // CDI allows no device without edits.
  if (edits.empty()) edits.env = {"TESSERA_GRANT=" + entry.grant};
  for (cdi::Node& node : edits.nodes) {
    if (node.type.empty()) DescribeNode(root_.prefix(), node);
  }
  cdi::Sort(edits);
  entry.edits = edits;
  // A document that no runtime accepts could not be read from the journal either.
  const std::string text = cdi::Text(DocumentOf(entry.cdi_kind, entry.grant, std::move(edits)));
  if (const auto read = cdi::Read(text); !read) {
    return Fail(Reason::kNotPrepared, "{} was made ready with edits that no runtime accepts: {}",
                job.call->about, read.error().message);
  }
  entry.step = PrepareStep::kPrepared;
  const Status written = Wrote(journal_.Write(entry));
  if (!written) entry.step = PrepareStep::kPreparing;
  return written;
}

bool Preparations::IsWanted(const Call& call) const {
  return !call.answered && clock_.Now() < call.deadline && call.wanted();
}

void Preparations::Answer(Call& call, Status status) {
  std::function<void(Status)> done;
  {
    const MutexLock lock(mutex_);
    done = std::exchange(call.done, nullptr);
    call.answered = true;
    std::erase_if(calls_, [&](const auto& one) { return one.get() == &call; });
  }
  if (done) done(std::move(status));
}

Status Preparations::PutDocuments(const Preparation& entry) {
  for (const std::string& grant : entry.grants) {
    TRY(Wrote(PutCdiDocument(entry.cdi_dir + "/" + GrantFileName(grant),
                             cdi::Text(DocumentOf(entry.cdi_kind, grant, entry.edits)))));
  }
  return {};
}

}  // namespace tessera
