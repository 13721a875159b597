// SPDX-License-Identifier: Apache-2.0
// The end of preparations: the undo, and its retries until it succeeds.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "grant/fraction.h"
#include "prepare/preparations.h"

namespace tessera {
namespace {

constexpr char kNotBack[] = "it was not restored after its last container: ";

Status UndoneByNobody(const Preparation& entry) {
  return Fail(Reason::kNotUnprepared,
              "no configured resource undoes what '{}' has prepared; configure {} as before until "
              "that is done",
              entry.preparer, entry.resource);
}

void TellStuck(const Preparation& entry, const Error& why) {
  log::Warn("a grant's preparation is not undone", why,
            {{"resource", entry.resource},
             {"grant", entry.grant},
             {"uid", entry.pod_uid},
             {"devices", Join(entry.devices, ",")}});
}

}  // namespace

// The order is: journal, documents, devices, entry. Without its document no runtime gives the
// device to a container while it is undone.
Status Preparations::Undo(const std::string& grant) {
  Preparation entry;
  {
    const MutexLock lock(mutex_);
    Item& item = items_.at(grant);
    item.entry.step = PrepareStep::kUnpreparing;
    item.next = clock_.Now();
    entry = item.entry;
  }
  changed_();  // Unprepare may hang; Tick watches it
  Status undone = journal_.Write(entry);
  for (const std::string& each : entry.grants) {
    if (undone) undone = os::RemoveFile(entry.cdi_dir + "/" + GrantFileName(each));
  }
  if (undone) undone = UndoBy(entry);
  if (undone) undone = journal_.Remove(grant);
  if (undone) {
    log::Info("a grant's preparation is undone", {{"resource", entry.resource},
                                                  {"grant", grant},
                                                  {"uid", entry.pod_uid},
                                                  {"devices", Join(entry.devices, ",")}});
    return {};
  }
  const Error why{Reason::kNotUnprepared, kNotBack + undone.error().message};
  bool is_told = false;
  {
    const MutexLock lock(mutex_);
    Item& item = items_.at(grant);
    is_told = item.trouble == why;
    item.trouble = why;
    item.next = clock_.Now() + item.pauses.Failed();
  }
  if (!is_told) TellStuck(entry, why);
  return Fail(Reason::kNotUnprepared, "{}: device {}: {}", entry.resource, Join(entry.devices, ","),
              why.message);
}

std::shared_ptr<Backend> Preparations::BackendFor(const Preparation& entry) const {
  const MutexLock lock(mutex_);
  const auto served = served_.find({entry.resource, entry.preparer});
  return served == served_.end() ? nullptr : served->second.backend;
}

Status Preparations::UndoBy(const Preparation& entry) {
  const std::shared_ptr<Backend> backend = BackendFor(entry);
  if (backend == nullptr) {
    return UndoneByNobody(entry);
  }
  return backend->preparer()->Unprepare({.grant = entry.grant,
                                         .pod_uid = entry.pod_uid,
                                         .share_ids = entry.share_ids,
                                         .devices = entry.devices,
                                         .prepared = entry.prepared});
}

void Preparations::Leave(const std::string& grant, bool gone) {
  const MutexLock lock(mutex_);
  if (gone) {
    items_.erase(grant);
  } else {
    items_.at(grant).busy = false;
  }
}

void Preparations::Retry(const std::string& grant) {
  const Status undone = Undo(grant);
  Leave(grant, undone.has_value());
  changed_();
}

void Preparations::UndoSoon(const std::string& grant, Item& item) {
  item.busy = true;
  item.next = clock_.Now();
  workers_.Run([self = shared_from_this(), grant] { self->Retry(grant); });
}

std::optional<Steady> Preparations::Tick() {
  workers_.GoOn();
  std::optional<Steady> next;
  const auto look_at = [&](Steady at) { next = std::min(next.value_or(at), at); };
  std::vector<std::shared_ptr<Call>> late;
  std::vector<std::pair<Preparation, Error>> hung;
  {
    const MutexLock lock(mutex_);
    const Steady now = clock_.Now();
    next = LookWhenDue(now);
    for (const auto& call : calls_) {
      if (call->deadline <= now) {
        late.push_back(call);
      } else {
        look_at(call->deadline);
      }
    }
    for (auto& [grant, item] : items_) {
      if (item.entry.step != PrepareStep::kUnpreparing) continue;
      // Serve makes the undo due once the resource is served.
      if (!item.busy && !IsServed(item.entry)) continue;
      if (!item.busy && item.next <= now) UndoSoon(grant, item);
      if (!item.busy) {
        look_at(item.next);
      } else if (!item.trouble && item.next + kHangs <= now) {
        item.trouble = Error{Reason::kNotUnprepared,
                             kNotBack + ("that takes longer than " + FormatDuration(kHangs))};
        hung.emplace_back(item.entry, *item.trouble);
      } else if (!item.trouble) {
        look_at(item.next + kHangs);
      }
    }
  }
  for (const auto& call : late) {
    Answer(*call, Fail(Reason::kPrepareTimedOut, "{} was not ready after {}", call->about,
                       FormatDuration(kDeadline)));
  }
  for (const auto& [entry, why] : hung) TellStuck(entry, why);
  if (!hung.empty()) changed_();
  return next;
}

// Logs entries whose resource left the configuration. While kubelet names their container, no other
// part would report them.
void Preparations::TellUnserved() {
  std::vector<Preparation> unserved;
  {
    const MutexLock lock(mutex_);
    for (auto& [grant, item] : items_) {
      const bool served = IsServed(item.entry);
      if (!served && !item.told_unserved) unserved.push_back(item.entry);
      item.told_unserved = !served;
    }
  }
  for (const Preparation& entry : unserved) {
    log::Warn("a grant's preparation cannot be undone", UndoneByNobody(entry).error(),
              {{"resource", entry.resource},
               {"grant", entry.grant},
               {"uid", entry.pod_uid},
               {"devices", Join(entry.devices, ",")}});
  }
}

// Forgets unreadable entries whose file a person has removed, and takes in those that can be read
// now.
void Preparations::ForgetUnreadable() {
  std::map<std::string, UnreadPreparation> unreadable;
  {
    const MutexLock lock(mutex_);
    unreadable = unreadable_;
  }
  bool news = false;
  for (const auto& [grant, unread] : unreadable) {
    auto entry = journal_.ReadOne(grant);
    if (!entry && os::Exists(journal_.PathOf(grant))) continue;
    const MutexLock lock(mutex_);
    if (unreadable_.erase(grant) == 0) continue;  // another call was first
    if (entry) TakeIn(*std::move(entry));
    news = true;
  }
  if (news) changed_();
}

void Preparations::RemoveForgotten() {
  if (!any() || !Load()) return;
  ForgetUnreadable();
  TellUnserved();
  std::shared_ptr<CheckpointFile> checkpoint;
  std::vector<std::shared_ptr<Backend>> ended;  // destroyed after the mutex is released
  {
    const MutexLock lock(mutex_);
    std::set<std::pair<std::string, std::string>> needed;
    for (const auto& [grant, item] : items_) {
      needed.emplace(item.entry.resource, item.entry.preparer);
    }
    for (auto at = served_.begin(); at != served_.end();) {
      const bool ends = !at->second.current && !needed.contains(at->first);
      if (ends) ended.push_back(std::move(at->second.backend));
      at = ends ? served_.erase(at) : std::next(at);
    }
    if (items_.empty()) return;
    checkpoint = checkpoint_;
  }
  const Result<HeldGrantsPtr> held =
      checkpoint != nullptr ? checkpoint->Read()
                            : Fail(Reason::kKubeletAbsent, "kubelet has not written it");
  std::set<std::string> live;
  if (held) {
    for (const HeldGrant& one : (*held)->all()) live.insert(one.prepared);
  }
  const MutexLock lock(mutex_);
  const Steady now = clock_.Now();
  for (auto& [grant, item] : items_) {
    if (item.busy) continue;
    if (item.entry.step == PrepareStep::kUnpreparing) {
      if (item.next <= now) UndoSoon(grant, item);
      continue;
    }
    // Only a checkpoint that was read counts: for kForgotten in a row it must lack the grants.
    if (!held || std::ranges::any_of(item.entry.grants, [&](const std::string& each) {
          return live.contains(each);
        })) {
      item.forgotten.reset();
      continue;
    }
    if (!item.forgotten) item.forgotten = now;
    if (now - *item.forgotten >= kForgotten) UndoSoon(grant, item);
  }
}

}  // namespace tessera
