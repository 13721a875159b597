// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "share/share.h"

namespace tessera {
namespace {

bool Less(const Holding& a, const Holding& b) {
  const auto names = [](const Holding& h) {
    return std::tie(h.pod_namespace, h.pod, h.pod_uid, h.container, h.resource, h.share_ids);
  };
  return names(a) < names(b);
}

// Whether two words for one thing agree, as far as both were told.
bool Agree(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() || a == b;
}

bool SameHolding(const Holding& a, const Holding& b) {
  return Agree(a.pod_namespace, b.pod_namespace) && Agree(a.pod, b.pod) &&
         Agree(a.pod_uid, b.pod_uid);
}

// Holdings by what is always told of them: resource, container and ids.
using Content = std::tuple<std::string, std::string, std::vector<std::string>>;

Content ContentOf(const Holding& holding) {
  return {holding.resource, holding.container, holding.share_ids};
}

// What a view of kubelet's left out this time is kept from the last.
void Complete(Holding& holding, const Holding& known) {
  if (holding.pod_namespace.empty()) holding.pod_namespace = known.pod_namespace;
  if (holding.pod.empty()) holding.pod = known.pod;
  if (holding.pod_uid.empty()) holding.pod_uid = known.pod_uid;
}

// Completes `after` from `before`; what is in only one of them has appeared or ended.
void Compare(std::vector<Holding> before, std::vector<Holding>& after, LedgerChange& change) {
  std::multimap<Content, Holding> known;
  for (Holding& holding : before) known.emplace(ContentOf(holding), std::move(holding));
  for (Holding& holding : after) {
    const auto [begin, end] = known.equal_range(ContentOf(holding));
    const auto match = std::find_if(
        begin, end, [&](const auto& entry) { return SameHolding(entry.second, holding); });
    if (match == end) {
      change.appeared.push_back(holding);
    } else {
      Complete(holding, match->second);
      known.erase(match);
    }
  }
  for (auto& [content, holding] : known) change.ended.push_back(std::move(holding));
  std::sort(change.ended.begin(), change.ended.end(), Less);
}

bool Confirms(const Holding& holding, const PendingGrant& grant) {
  return holding.resource == grant.resource && holding.share_ids == grant.share_ids;
}

}  // namespace

void GrantInbox::Put(std::string_view resource, std::vector<std::string> share_ids, Steady now) {
  std::lock_guard lock(mutex_);
  contents_.grants.push_back({std::string(resource), std::move(share_ids), now});
  filled_ = true;
}

void GrantInbox::PutBound(BoundDevices bound) {
  std::lock_guard lock(mutex_);
  contents_.bound.push_back(std::move(bound));
  filled_ = true;
}

GrantInbox::Contents GrantInbox::TakeAll() {
  if (!filled_) return {};
  std::lock_guard lock(mutex_);
  filled_ = false;
  return std::exchange(contents_, {});
}

void Ledger::TakeIn() const {
  GrantInbox::Contents contents = inbox_->TakeAll();
  for (BoundDevices& fresh : contents.bound) {
    for (const std::string& device : fresh.devices) in_use_.insert({fresh.resource, device});
    bound_[{fresh.pod_uid, fresh.container, fresh.resource}] = {std::move(fresh.devices),
                                                                fresh.since};
  }
  for (PendingGrant& fresh : contents.grants) {
    std::sort(fresh.share_ids.begin(), fresh.share_ids.end(), NaturalLess());
    auto known = std::find_if(pending_.begin(), pending_.end(), [&](const PendingGrant& grant) {
      return grant.resource == fresh.resource && grant.share_ids == fresh.share_ids;
    });
    if (known != pending_.end()) {
      known->since = fresh.since;
      continue;
    }
    NoteUse(fresh.resource, fresh.share_ids);
    pending_.push_back(std::move(fresh));
  }
}

LedgerChange Ledger::Reconcile(std::vector<Holding> holdings,
                               const std::set<std::string>& resources, Steady now) {
  TakeIn();
  LedgerChange change;
  for (Holding& holding : holdings) {
    std::sort(holding.share_ids.begin(), holding.share_ids.end(), NaturalLess());
  }
  DropEnded(holdings);
  std::sort(holdings.begin(), holdings.end(), Less);
  Compare(std::move(holdings_), holdings, change);
  std::sort(holdings.begin(), holdings.end(), Less);
  holdings_ = std::move(holdings);
  Settle(now, change);
  DropUnbound(now);
  reconciled_ = resources;
  Index();
  return change;
}

void Ledger::DropEnded(std::vector<Holding>& holdings) {
  std::set<std::string> listed;   // by pod-resources
  std::set<std::string> present;  // in either
  for (const Holding& holding : holdings) {
    if (!holding.pod.empty()) listed.insert(holding.pod_uid);
    present.insert(holding.pod_uid);
  }
  for (const Holding& former : holdings_) {
    if (!former.pod.empty() && !former.pod_uid.empty()) ended_uids_.insert(former.pod_uid);
  }
  std::erase_if(ended_uids_, [&](const std::string& uid) {
    return listed.contains(uid) || !present.contains(uid);
  });
  std::erase_if(holdings, [&](const Holding& holding) {
    return holding.pod.empty() && ended_uids_.contains(holding.pod_uid);
  });
}

// Takes the pending grants that were confirmed or have waited too long off the list, and finds the
// holdings that none of them explains.
void Ledger::Settle(Steady now, LedgerChange& change) {
  for (const Holding& holding : change.appeared) {
    const auto given = [&](const PendingGrant& grant) { return Confirms(holding, grant); };
    if (reconciled(holding.resource) && std::none_of(pending_.begin(), pending_.end(), given)) {
      change.unexpected.push_back(holding);
    }
  }
  std::erase_if(pending_, [&](const PendingGrant& grant) {
    const auto confirms = [&](const Holding& holding) { return Confirms(holding, grant); };
    return std::any_of(change.appeared.begin(), change.appeared.end(), confirms);
  });
  std::erase_if(pending_, [&](const PendingGrant& grant) {
    if (now - grant.since < pending_limit_) return false;
    change.forgotten.push_back(grant);
    return true;
  });
}

// Of containers that have ended, and of those that never came.
void Ledger::DropUnbound(Steady now) {
  std::set<BoundKey> held;
  for (const Holding& holding : holdings_) {
    held.insert({holding.pod_uid, holding.container, holding.resource});
  }
  for (auto at = bound_.begin(); at != bound_.end();) {
    Bound& bound = at->second;
    const bool is_held = held.contains(at->first);
    const bool ended = !is_held && (bound.held || now - bound.since >= pending_limit_);
    bound.held = is_held;
    at = ended ? bound_.erase(at) : std::next(at);
  }
}

std::set<std::string> Ledger::DevicesOf(const Holding& holding) const {
  TakeIn();
  const auto bound = bound_.find({holding.pod_uid, holding.container, holding.resource});
  if (bound != bound_.end()) return {bound->second.devices.begin(), bound->second.devices.end()};
  std::set<std::string> devices;
  for (const std::string& id : holding.share_ids) devices.insert(DeviceOfShare(id));
  return devices;
}

bool Ledger::HasDrifted(const Holding& holding) const {
  std::set<std::string> devices;
  for (const std::string& id : holding.share_ids) devices.insert(DeviceOfShare(id));
  return DevicesOf(holding) != devices;
}

void Ledger::Index() {
  in_use_.clear();
  for (const auto& [key, bound] : bound_) {
    for (const std::string& device : bound.devices) in_use_.insert({std::get<2>(key), device});
  }
  for (const Holding& holding : holdings_) NoteUse(holding.resource, holding.share_ids);
  for (const PendingGrant& grant : pending_) NoteUse(grant.resource, grant.share_ids);
}

void Ledger::NoteUse(const std::string& resource, std::span<const std::string> share_ids) const {
  for (const std::string& id : share_ids) in_use_.insert({resource, DeviceOfShare(id)});
}

bool Ledger::MayBeInUse(const DeviceKey& key) const {
  TakeIn();
  return !reconciled(key.source) || in_use_.contains(key);
}

bool Ledger::AnyMayBeInUse(const std::string& source) const {
  TakeIn();
  if (!reconciled(source)) return true;
  const auto use = in_use_.lower_bound({source, ""});
  return use != in_use_.end() && use->source == source;
}

std::vector<std::string_view> Ledger::HeldIds(const std::string& source) const {
  TakeIn();
  std::vector<std::string_view> ids;
  const auto add = [&](const auto& held) {
    if (held.resource == source)
      ids.insert(ids.end(), held.share_ids.begin(), held.share_ids.end());
  };
  std::ranges::for_each(holdings_, add);
  std::ranges::for_each(pending_, add);
  if (!reconciled(source)) std::ranges::for_each(presumed_, add);
  return ids;
}

bool Ledger::AnyUnnamed() const {
  return std::ranges::any_of(holdings_, [](const auto& holding) { return holding.pod.empty(); });
}

}  // namespace tessera
