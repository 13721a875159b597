// SPDX-License-Identifier: Apache-2.0
#include "ledger/grant_inbox.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "share/share.h"

namespace tessera {
namespace {

// The common key of a grant and the holding that confirms it.
using Granted = std::pair<std::string, std::vector<std::string>>;

}  // namespace

PutResult GrantInbox::Put(std::string_view resource, std::vector<std::string> share_ids,
                          Steady now) {
  TakenBy asked;
  const MutexLock lock(mutex_);
  for (const std::string& id : share_ids) {
    if (takes_.empty()) break;
    const auto takes = takes_.find({std::string(resource), DeviceOfShare(id)});
    if (takes == takes_.end()) continue;
    for (const std::string& hardware : takes->second) {
      auto by = taken_.find(hardware);
      if (by == taken_.end()) by = asked.try_emplace(hardware, takes->first).first;
      if (by->second != takes->first) return {.rival = by->second};
    }
  }
  const bool excludes = !asked.empty();
  taken_.merge(asked);
  PutLocked({std::string(resource), std::move(share_ids), now});
  return {.excludes = excludes};
}

void GrantInbox::PutLocked(PendingGrant granted) {
  std::vector<std::string>& ids = granted.share_ids;
  std::ranges::sort(ids, NaturalLess());
  const auto twice = std::ranges::unique(ids);
  ids.erase(twice.begin(), twice.end());
  entries_.push_back({std::move(granted), 0});
  const auto fresh = std::prev(entries_.end());
  const PendingGrant& grant = fresh->grant;
  fresh->newest = grant.share_ids.size();
  for (const std::string& id : grant.share_ids) {
    const auto [at, first] = newest_.try_emplace({grant.resource, id}, fresh);
    if (first) continue;
    const auto former = std::exchange(at->second, fresh);
    if (--former->newest == 0) entries_.erase(former);
  }
  NoteUse(grant);
}

void GrantInbox::SetExclusive(std::span<const Exclusive> devices) {
  // The tables are built, and the former ones destroyed, outside the lock, so Allocate does not
  // wait for that.
  TakesByDevice takes;
  TakenBy taken;
  for (const Exclusive& each : devices) {
    takes.emplace(each.device, each.hardware);
    if (!each.held) continue;
    for (const std::string& hardware : each.hardware) taken.try_emplace(hardware, each.device);
  }
  const MutexLock lock(mutex_);
  takes_.swap(takes);
  taken_.swap(taken);
  if (takes_.empty()) return;
  // Allocate may have granted devices before the table existed, or after the caller read the
  // ledger. The hardware of these grants is taken too.
  for (const auto& [device, all] : takes_) {
    if (!IsInUse(device)) continue;
    for (const std::string& hardware : all) taken_.try_emplace(hardware, device);
  }
}

void GrantInbox::PutBound(BoundDevices bound) {
  const MutexLock lock(mutex_);
  in_use_[bound.resource].insert(bound.devices.begin(), bound.devices.end());
  BoundKey key(std::move(bound.pod_uid), std::move(bound.container), std::move(bound.resource));
  bound_[std::move(key)] = {std::move(bound.devices), bound.since};
}

std::vector<Holding> GrantInbox::Confirm(std::span<const Holding> appeared) {
  std::set<Granted> told;
  for (const Holding& holding : appeared) told.emplace(holding.resource, holding.share_ids);
  const MutexLock lock(mutex_);
  std::set<std::pair<std::string_view, std::string_view>> granted;
  for (const auto& [grant, newest] : entries_) {
    for (const std::string& id : grant.share_ids) granted.emplace(grant.resource, id);
  }
  std::vector<Holding> unexplained;
  std::ranges::copy_if(appeared, std::back_inserter(unexplained), [&](const Holding& holding) {
    return !std::ranges::all_of(holding.share_ids, [&](const std::string& id) {
      return granted.contains({holding.resource, id});
    });
  });
  for (auto at = entries_.begin(); at != entries_.end();) {
    const bool confirmed = told.contains({at->grant.resource, at->grant.share_ids});
    at = confirmed ? Drop(at) : std::next(at);
  }
  Index();
  return unexplained;
}

std::vector<PendingGrant> GrantInbox::Forget(Steady then) {
  const MutexLock lock(mutex_);
  std::vector<PendingGrant> forgotten;
  for (auto at = entries_.begin(); at != entries_.end();) {
    if (at->grant.since > then) {
      ++at;
      continue;
    }
    forgotten.push_back(at->grant);
    at = Drop(at);
  }
  Index();
  return forgotten;
}

void GrantInbox::KeepBound(std::span<const Holding> holdings, Steady then) {
  std::set<BoundKey> held;
  for (const Holding& holding : holdings) {
    held.insert({holding.pod_uid, holding.container, holding.resource});
  }
  const MutexLock lock(mutex_);
  for (auto at = bound_.begin(); at != bound_.end();) {
    Bound& bound = at->second;
    const bool was_held = std::exchange(bound.held, held.contains(at->first));
    const bool ended = !bound.held && (was_held || bound.since <= then);
    at = ended ? bound_.erase(at) : std::next(at);
  }
  Index();
}

std::vector<PendingGrant> GrantInbox::pending() const {
  const MutexLock lock(mutex_);
  std::vector<PendingGrant> grants;
  for (const Entry& entry : entries_) grants.push_back(entry.grant);
  return grants;
}

std::vector<BoundDevices> GrantInbox::bound() const {
  const MutexLock lock(mutex_);
  std::vector<BoundDevices> all;
  for (const auto& [key, bound] : bound_) {
    const auto& [uid, container, resource] = key;
    all.push_back({uid, container, resource, bound.devices, bound.since});
  }
  return all;
}

std::vector<std::string> GrantInbox::DevicesOf(const Holding& holding) const {
  const MutexLock lock(mutex_);
  const auto bound = bound_.find({holding.pod_uid, holding.container, holding.resource});
  return bound == bound_.end() ? std::vector<std::string>() : bound->second.devices;
}

bool GrantInbox::Uses(const DeviceKey& key) const {
  const MutexLock lock(mutex_);
  return IsInUse(key);
}

bool GrantInbox::UsesAny(const std::string& source) const {
  const MutexLock lock(mutex_);
  const auto devices = in_use_.find(source);
  return devices != in_use_.end() && !devices->second.empty();
}

bool GrantInbox::IsInUse(const DeviceKey& key) const {
  const auto devices = in_use_.find(key.source);
  return devices != in_use_.end() && devices->second.contains(key.id);
}

GrantInbox::Entries::iterator GrantInbox::Drop(Entries::iterator at) {
  for (const std::string& id : at->grant.share_ids) {
    const auto newest = newest_.find({at->grant.resource, id});
    if (newest != newest_.end() && newest->second == at) newest_.erase(newest);
  }
  return entries_.erase(at);
}

void GrantInbox::Index() {
  in_use_.clear();
  for (const auto& [key, bound] : bound_) {
    in_use_[std::get<2>(key)].insert(bound.devices.begin(), bound.devices.end());
  }
  for (const Entry& entry : entries_) NoteUse(entry.grant);
}

void GrantInbox::NoteUse(const PendingGrant& grant) {
  std::set<std::string>& devices = in_use_[grant.resource];
  for (const std::string& id : grant.share_ids) devices.insert(DeviceOfShare(id));
}

}  // namespace tessera
