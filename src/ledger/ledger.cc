// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "share/share.h"

namespace tessera {
namespace {

bool HasAny(const std::set<DeviceKey, DeviceKeyLess>& devices, const std::string& source) {
  const auto first = devices.lower_bound({source, ""});
  return first != devices.end() && first->source == source;
}

bool Less(const Holding& a, const Holding& b) {
  const auto names = [](const Holding& h) {
    return std::tie(h.pod_namespace, h.pod, h.pod_uid, h.container, h.resource, h.share_ids);
  };
  return names(a) < names(b);
}

// True if both texts are equal, or one is unknown.
bool Agree(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() || a == b;
}

bool SameHolding(const Holding& a, const Holding& b) {
  return Agree(a.pod_namespace, b.pod_namespace) && Agree(a.pod, b.pod) &&
         Agree(a.pod_uid, b.pod_uid);
}

// The fields that every holding has: resource, container and ids.
using Content = std::tuple<std::string, std::string, std::vector<std::string>>;

Content ContentOf(const Holding& holding) {
  return {holding.resource, holding.container, holding.share_ids};
}

// Fields that kubelet's view lacks this time keep their last value.
void Complete(Holding& holding, const Holding& known) {
  if (holding.pod_namespace.empty()) holding.pod_namespace = known.pod_namespace;
  if (holding.pod.empty()) holding.pod = known.pod;
  if (holding.pod_uid.empty()) holding.pod_uid = known.pod_uid;
}

// Completes `after` from `before`. Holdings in only one of them have appeared or ended.
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

}  // namespace

LedgerChange Ledger::Reconcile(std::vector<Holding> holdings,
                               const std::set<std::string>& resources, Steady now) {
  LedgerChange change;
  for (Holding& holding : holdings) {
    std::sort(holding.share_ids.begin(), holding.share_ids.end(), NaturalLess());
  }
  DropEnded(holdings);
  const auto unnamed = [&] {
    return std::ranges::count_if(holdings, [](const auto& each) { return each.pod.empty(); });
  };
  const auto unlisted = unnamed();
  std::sort(holdings.begin(), holdings.end(), Less);
  Compare(std::move(holdings_), holdings, change);
  unlisted_ = unlisted > 0;
  may_have_ended_ = unnamed() < unlisted;  // it kept its former name
  std::sort(holdings.begin(), holdings.end(), Less);
  holdings_ = std::move(holdings);
  in_use_ = DevicesIn(holdings_);
  Settle(now, change);
  reconciled_ = resources;
  return change;
}

void Ledger::Presume(std::vector<Holding> holdings) {
  presumed_ = std::move(holdings);
  presumed_in_use_ = DevicesIn(presumed_);
  presumes_ = true;
}

Ledger::Devices Ledger::DevicesIn(const std::vector<Holding>& holdings) {
  Devices devices;
  for (const Holding& holding : holdings) {
    for (const std::string& id : holding.share_ids) {
      devices.insert({holding.resource, DeviceOfShare(id)});
    }
  }
  return devices;
}

void Ledger::DropEnded(std::vector<Holding>& holdings) {
  std::set<std::string> listed;   // in the pod-resources API's answer
  std::set<std::string> present;  // in either view
  for (const Holding& holding : holdings) {
    if (!holding.pod.empty() && !holding.pod_uid.empty()) listed.insert(holding.pod_uid);
    present.insert(holding.pod_uid);
  }
  ended_uids_.insert(named_uids_.begin(), named_uids_.end());
  std::erase_if(ended_uids_, [&](const std::string& uid) {
    return listed.contains(uid) || !present.contains(uid);
  });
  std::erase_if(holdings, [&](const Holding& holding) {
    return holding.pod.empty() && ended_uids_.contains(holding.pod_uid);
  });
  named_uids_ = std::move(listed);
}

// Removes pending grants that are confirmed or too old, and finds holdings that no pending grant
// explains.
void Ledger::Settle(Steady now, LedgerChange& change) {
  const Steady limit = now - pending_limit_;
  change.unexpected = inbox_->Confirm(change.appeared);
  std::erase_if(change.unexpected,
                [this](const Holding& holding) { return !reconciled(holding.resource); });
  change.forgotten = inbox_->Forget(limit);
  inbox_->KeepBound(holdings_, limit);
}

std::set<std::string> Ledger::DevicesOf(const Holding& holding) const {
  const std::vector<std::string> bound = inbox_->DevicesOf(holding);
  std::set<std::string> devices(bound.begin(), bound.end());
  if (!devices.empty()) return devices;
  for (const std::string& id : holding.share_ids) devices.insert(DeviceOfShare(id));
  return devices;
}

bool Ledger::HasDrifted(const Holding& holding) const {
  std::set<std::string> devices;
  for (const std::string& id : holding.share_ids) devices.insert(DeviceOfShare(id));
  return DevicesOf(holding) != devices;
}

bool Ledger::MayBeInUse(const DeviceKey& key) const {
  return !reconciled(key.source) || in_use_.contains(key) || prepared_.contains(key) ||
         inbox_->Uses(key);
}

bool Ledger::IsHeld(const DeviceKey& key) const {
  if (reconciled(key.source) || !presumes_) return MayBeInUse(key);
  return prepared_.contains(key) || inbox_->Uses(key) || presumed_in_use_.contains(key);
}

bool Ledger::AnyMayBeInUse(const std::string& source) const {
  return !reconciled(source) || inbox_->UsesAny(source) || HasAny(in_use_, source) ||
         HasAny(prepared_, source);
}

std::vector<std::string> Ledger::HeldIds(const std::string& source) const {
  std::vector<std::string> ids;
  const auto add = [&](const auto& held) {
    if (held.resource == source)
      ids.insert(ids.end(), held.share_ids.begin(), held.share_ids.end());
  };
  std::ranges::for_each(holdings_, add);
  std::ranges::for_each(pending(), add);
  if (!reconciled(source)) std::ranges::for_each(presumed_, add);
  return ids;
}

}  // namespace tessera
