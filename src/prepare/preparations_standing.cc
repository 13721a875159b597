// SPDX-License-Identifier: Apache-2.0
// Which resources can be prepared at all, and the standing that follows from all entries.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "cdi/cdi_file.h"
#include "config/schema/config.h"
#include "prepare/preparations.h"

namespace tessera {
namespace {

// Tests that PutDocuments could write there. The probe's name is no document's, so no runtime reads
// it.
Status CheckDocuments(const std::string& directory) {
  const std::string probe = directory + "/tessera-prepare.probe";
  TRY(os::RemoveFile(probe));
  TRY(PutCdiDocument(probe, std::string(4096, ' ')));
  return os::RemoveFile(probe);
}

std::optional<Error> MismatchOf(bool prepares, bool has_preparer) {
  if (prepares == has_preparer) return std::nullopt;
  return Error{Reason::kInternal,
               prepares ? "its kind says that it prepares for grants, but its backend cannot"
                        : "its backend prepares for grants, but its kind does not say so"};
}

void TellRefused(const std::map<std::string, Error>& before,
                 const std::map<std::string, Error>& after) {
  for (const auto& [resource, why] : after) {
    const auto known = before.find(resource);
    if (known != before.end() && known->second == why) continue;
    log::LogError("nothing can be prepared for grants: all devices are offered as unhealthy", why,
                  {{"resource", resource}});
  }
  for (const auto& [resource, why] : before) {
    if (after.contains(resource)) continue;
    log::Info("devices can be prepared for grants again", {{"resource", resource}});
  }
}

}  // namespace

void Preparations::Serve(const config::Resource& resource, const Kind& kind,
                         std::shared_ptr<Backend> backend, const std::string& cdi_dir) {
  const Preparer* preparer = backend->preparer();
  const auto mismatch = MismatchOf(Prepares(kind, resource), preparer != nullptr);
  {
    const MutexLock lock(mutex_);
    EndServing(resource.name);
    preparers_[resource.name] = preparer == nullptr ? "" : preparer->name();
    if (mismatch) mismatched_.insert_or_assign(resource.name, *mismatch);
    if (preparer != nullptr) {
      Served& served = served_[{resource.name, preparer->name()}];
      if (served.cdi_dir != cdi_dir) look_again_ = clock_.Now();
      served = {.backend = std::move(backend),
                .cdi_dir = cdi_dir,
                .ids_are_of_hardware = kind.ids_are_of_hardware};
      for (auto& [grant, item] : items_) {
        const Preparation& entry = item.entry;
        const bool its = entry.resource == resource.name && entry.preparer == preparer->name();
        if (its && !item.busy) item.next = clock_.Now();
      }
    }
  }
  changed_();
}

void Preparations::EndServing(const std::string& resource) {
  for (auto& [key, served] : served_) {
    if (key.first == resource) served.current = false;
  }
  mismatched_.erase(resource);
  preparers_.erase(resource);
}

void Preparations::Retire(const std::string& resource) {
  const MutexLock lock(mutex_);
  EndServing(resource);
  refused_.erase(resource);
}

bool Preparations::IsServed(const Preparation& entry) const {
  return served_.contains({entry.resource, entry.preparer});
}

Status Preparations::Wrote(Status written) {
  if (written) return written;
  const MutexLock lock(mutex_);
  look_again_ = clock_.Now();
  return written;
}

std::optional<Steady> Preparations::LookWhenDue(Steady now) {
  if (looking_ || !look_again_ || *look_again_ > now) return looking_ ? std::nullopt : look_again_;
  look_again_.reset();
  looking_ = true;
  workers_.Run([self = shared_from_this()] { self->LookAtDirectories(); });
  return std::nullopt;
}

void Preparations::LookAtDirectories() {
  std::map<std::string, std::string> directories;  // by resource
  {
    const MutexLock lock(mutex_);
    for (const auto& [key, served] : served_) {
      if (served.current) directories[key.first] = served.cdi_dir;
    }
  }
  // If another instance has the journal, this one does not test it.
  Status kept = Load();
  if (kept) {
    kept = journal_.Check();
  } else if (kept.error().reason == Reason::kStateLocked) {
    kept = {};
  }
  std::map<std::string, Error> refused;
  for (const auto& [resource, directory] : directories) {
    const Status usable = kept ? CheckDocuments(directory) : kept;
    if (usable) continue;
    refused.emplace(resource, usable.error().In("nothing can be prepared for containers"));
  }
  std::map<std::string, Error> before;
  {
    const MutexLock lock(mutex_);
    before = std::exchange(refused_, refused);
    looking_ = false;
    if (refused.empty()) {
      look_pauses_.Succeeded();
    } else if (!look_again_) {
      look_again_ = clock_.Now() + look_pauses_.Failed();
    }
  }
  TellRefused(before, refused);
  changed_();
}

Preparations::Standing Preparations::standing() const {
  Standing all;
  const MutexLock lock(mutex_);
  for (const auto& [grant, item] : items_) {
    const Preparation& entry = item.entry;
    const auto preparer = preparers_.find(entry.resource);
    const bool is_left = preparer != preparers_.end() && preparer->second != entry.preparer;
    for (const std::string& device : entry.devices) {
      const DeviceKey key{.source = entry.resource, .id = device};
      all.held.insert(key);
      if (is_left) all.left.insert(key);
      if (item.trouble) all.outstanding.insert_or_assign(key, *item.trouble);
    }
    if (item.trouble && !IsServed(entry)) {
      all.faults.push_back(
          item.trouble->In(entry.resource + ": device " + Join(entry.devices, ",")));
    }
  }
  all.obstacles = mismatched_;
  all.obstacles.insert(refused_.begin(), refused_.end());
  for (const auto& [resource, why] : all.obstacles) {
    all.faults.push_back(why.In(resource));
  }
  for (const auto& [grant, unread] : unreadable_) AddUnread(unread, all);
  return all;
}

void Preparations::AddUnread(const UnreadPreparation& unread, Standing& all) const {
  all.faults.push_back(unread.why);
  if (!unread.resource.empty() && !unread.devices.empty()) {
    for (const std::string& device : unread.devices) {
      const DeviceKey key{.source = unread.resource, .id = device};
      all.held.insert(key);
      all.outstanding.insert_or_assign(key, unread.why);
    }
    return;
  }
  for (const auto& [key, served] : served_) {
    const bool may_be = unread.resource.empty() || unread.resource == key.first;
    if (served.current && may_be) all.obstacles.emplace(key.first, unread.why);
  }
}

bool Preparations::AnyLeft() const {
  const MutexLock lock(mutex_);
  return !items_.empty();
}

}  // namespace tessera
