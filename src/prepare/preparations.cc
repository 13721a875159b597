// SPDX-License-Identifier: Apache-2.0
#include "prepare/preparations.h"

#include <algorithm>
#include <utility>

#include "backend/node_facts.h"
#include "base/log.h"
#include "base/text.h"
#include "cdi/cdi_file.h"
#include "fraction/binding_store.h"
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

cdi::Document DocumentOf(const std::string& kind, const std::string& grant, cdi::Edits edits) {
  return cdi::Tidy({.kind = kind, .devices = {{.name = grant, .edits = std::move(edits)}}});
}

}  // namespace

void Preparations::Open(const std::string& device_plugins) {
  const MutexLock lock(mutex_);
  checkpoint_ = std::make_shared<CheckpointFile>(device_plugins + "/" + kubelet::kCheckpointFile);
}

Status Preparations::Load() {
  {
    const MutexLock lock(mutex_);
    if (lock_) return {};
    std::optional<os::FileLock> taken(TRY(journal_.Lock()));
    boot_id_ = TRY(os::ReadBootId());
    Journal::Contents contents = TRY(journal_.Read());
    for (Preparation& entry : contents.entries) {
      Item item{.entry = std::move(entry)};
      if (item.entry.step == PrepareStep::kUnpreparing) {
        item.trouble = Error{Reason::kNotUnprepared,
                             "it is not back from its last container: the agent ended meanwhile"};
      } else if (item.entry.boot_id != boot_id_) {
        item.entry.step = PrepareStep::kPreparing;
      }
      std::string grant = item.entry.grant;
      items_.emplace(std::move(grant), std::move(item));
    }
    unreadable_ = std::move(contents.unreadable);
    for (const auto& [grant, why] : unreadable_) {
      log::LogError("what is prepared for a grant is not known, and not undone", why,
                    {{"grant", grant}});
    }
    lock_ = std::move(taken);
  }
  changed_();
  return {};
}

void Preparations::Serve(const std::string& resource, std::shared_ptr<Backend> backend) {
  Retire(resource);
  const Preparer* preparer = backend->preparer();
  if (preparer == nullptr) return;
  const std::string name = preparer->name();
  {
    const MutexLock lock(mutex_);
    served_[{resource, name}] = {.backend = std::move(backend)};
    for (auto& [grant, item] : items_) {
      const bool its = item.entry.resource == resource && item.entry.preparer == name;
      if (its && !item.busy) item.next = clock_.Now();
    }
  }
  changed_();
}

void Preparations::Retire(const std::string& resource) {
  const MutexLock lock(mutex_);
  for (auto& [key, served] : served_) {
    if (key.first == resource) served.current = false;
  }
}

void Preparations::Begin(Start start) {
  auto job = Claim(start);
  if (!job) return start.done(Fail(job.error()));
  if (*job == nullptr) return start.done({});
  const std::string about =
      start.binding.offer.resource + ": device " + Join((*job)->entry.devices, ",");
  auto call = std::make_shared<Call>();
  call->deadline = clock_.Now() + kDeadline;
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

// Sorted, so that they are the same whenever this is asked.
Result<std::set<std::string>> Preparations::GrantsOf(const Start& start, std::string& pod_uid) {
  const std::string& resource = start.binding.offer.resource;
  std::shared_ptr<CheckpointFile> checkpoint;
  {
    const MutexLock lock(mutex_);
    checkpoint = checkpoint_;
  }
  const Result<HeldGrantsPtr> held =
      checkpoint != nullptr ? checkpoint->Read() : Fail(Reason::kKubeletAbsent, "it has not come");
  if (!held) {
    return Fail(Reason::kGrantUnknown,
                "{}: kubelet's checkpoint does not say which container this is: {}", resource,
                held.error().message);
  }
  const HeldGrants::Some& some = (*held)->With(resource, start.share_ids);
  if (some.empty()) {
    return Fail(Reason::kGrantUnknown, "{}: no container in kubelet's checkpoint holds {}",
                resource, Join(start.share_ids, ","));
  }
  std::set<std::string> grants;
  for (const HeldGrant* one : some) {
    if (!IsGrantName(one->prepared)) continue;
    grants.insert(one->prepared);
    pod_uid = one->pod_uid;
  }
  return grants;
}

// Null: there is nothing left to be done.
Result<std::shared_ptr<Preparations::Job>> Preparations::Claim(const Start& start) {
  TRY(Load());
  const std::string& resource = start.binding.offer.resource;
  const auto job = std::make_shared<Job>();
  Preparation& entry = job->entry;
  const std::set<std::string> grants = TRY(GrantsOf(start, entry.pod_uid));
  if (grants.empty()) return nullptr;
  const Status described = Describe(start, *job);
  std::optional<Preparation> prepared;
  bool is_news = false;
  {
    const MutexLock lock(mutex_);
    for (const std::string& grant : grants) {
      if (const auto why = unreadable_.find(grant); why != unreadable_.end()) {
        return Fail(why->second);
      }
    }
    std::vector<Item*> met;
    for (auto& [grant, item] : items_) {
      if (item.entry.resource != resource) continue;
      const bool own = Meet(item.entry.grants, grants);
      if (!own && !Meet(item.entry.share_ids, start.share_ids)) continue;
      if (item.busy) {
        return Fail(item.entry.step == PrepareStep::kUnpreparing ? Reason::kNotUnprepared
                                                                 : Reason::kPrepareTimedOut,
                    "{}: device {} is still being {}", resource, Join(item.entry.devices, ","),
                    item.entry.step == PrepareStep::kUnpreparing
                        ? "brought back from an earlier container"
                        : "made ready");
      }
      met.push_back(&item);
      if (own && item.entry.step == PrepareStep::kPrepared) prepared = item.entry;
    }
    if (prepared) {
      for (const std::string& grant : grants) {
        if (std::ranges::count(prepared->grants, grant) > 0) continue;
        prepared->grants.push_back(grant);
        is_news = true;
      }
      items_.at(prepared->grant).busy = true;
    } else {
      if (!described) return Fail(described.error());
      entry.grant = *grants.begin();
      entry.grants.assign(grants.begin(), grants.end());
      entry.boot_id = boot_id_;
      for (Item* item : met) {
        item->busy = true;
        job->former.push_back(item->entry.grant);
      }
      if (met.empty()) items_.emplace(entry.grant, Item{.entry = entry, .busy = true});
    }
  }
  if (!prepared) return job;
  TRY(Confirm(*std::move(prepared), is_news));
  return nullptr;
}

// All that needs the offer.
Status Preparations::Describe(const Start& start, Job& job) const {
  const Binding& binding = start.binding;
  const Offer& offer = binding.offer;
  if (start.undescribed) {
    return Fail(Reason::kNotChecked,
                "{}: what containers need of the driver has not been found yet since the agent "
                "began: kubelet tries again by itself",
                offer.resource);
  }
  std::set<uint32_t> positions;
  for (const std::string& id : start.share_ids) {
    const Share* share = offer.shares.Find(id);
    if (share == nullptr) {
      return Fail(Reason::kVanished, "{}: the device of {} is not there any more", offer.resource,
                  id);
    }
    positions.insert(share->device);
  }
  job.backend = start.backend;
  if (binding.described != nullptr) job.base = binding.described->common;
  for (const uint32_t position : positions) {
    const Device& device = offer.devices[position];
    job.devices.push_back(device);
    job.entry.devices.push_back(device.key.id);
    cdi::Append(CdiEditsOf(device, binding.rendering, binding.described), job.base);
  }
  job.entry.resource = offer.resource;
  job.entry.preparer = start.backend->preparer()->name();
  job.entry.share_ids = start.share_ids;
  std::ranges::sort(job.entry.share_ids, NaturalLess());
  job.entry.cdi_dir = binding.cdi_dir;
  job.entry.cdi_kind = GrantCdiKind(binding.rendering);
  return {};
}

Status Preparations::Confirm(Preparation entry, bool is_news) {
  Status confirmed = is_news ? journal_.Write(entry) : Status();
  if (confirmed) confirmed = PutDocuments(entry);
  const MutexLock lock(mutex_);
  Item& item = items_.at(entry.grant);
  item.busy = false;
  if (confirmed) item.entry = std::move(entry);
  return confirmed;
}

void Preparations::Run(const Job& job) {
  Status status = UndoFormer(job);
  if (status) status = Prepare(job);
  Answer(*job.call, std::move(status));
  changed_();
}

// Nothing comes in between: with the last of them gone the new one is there.
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
  Status status = IsWanted(*job.call) ? journal_.Write(entry) : late;
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

Status Preparations::Keep(const Job& job, Prepared prepared, Preparation& entry) const {
  entry.prepared = std::move(prepared);
  cdi::Edits edits = job.base;
  cdi::Append(entry.prepared.edits, edits);
  if (edits.empty()) edits.env = {"TESSERA_GRANT=" + entry.grant};  // CDI takes no device without
  for (cdi::Node& node : edits.nodes) {
    if (node.type.empty()) DescribeNode(root_.prefix(), node);
  }
  cdi::Sort(edits);
  entry.edits = edits;
  // What no runtime takes would not be read back either.
  const std::string text = cdi::Text(DocumentOf(entry.cdi_kind, entry.grant, std::move(edits)));
  if (const auto read = cdi::Read(text); !read) {
    return Fail(Reason::kNotPrepared, "{} was made ready with what no runtime takes: {}",
                job.call->about, read.error().message);
  }
  entry.step = PrepareStep::kPrepared;
  const Status written = journal_.Write(entry);
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

Status Preparations::PutDocuments(const Preparation& entry) const {
  for (const std::string& grant : entry.grants) {
    TRY(PutCdiDocument(entry.cdi_dir + "/" + GrantFileName(grant),
                       cdi::Text(DocumentOf(entry.cdi_kind, grant, entry.edits))));
  }
  return {};
}

}  // namespace tessera
