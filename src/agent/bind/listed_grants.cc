// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/listed_grants.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"

namespace tessera::agent {
namespace {

template <class... Args>
tl::unexpected<Error> Doubt(const std::string& resource, fmt::format_string<Args...> format,
                            Args&&... args) {
  return Fail(Reason::kGrantUnknown,
              "{}: kubelet's checkpoint is of a shape that this agent does not know (a newer one "
              "may), and {}",
              resource, fmt::format(format, std::forward<Args>(args)...));
}

const std::string kNobody = "?";  // of whom the list knows: no pod is called so

HeldGrant ByRecord(const std::string& name, const Pin& pin) {
  const bool by_request = !pin.decision.empty();
  return {.pod_uid = pin.pod_uid,
          .container = pin.container,
          .resource = pin.resource,
          .ids = pin.ids,
          .name = name,
          .parts = by_request ? std::nullopt : std::optional(pin.parts),
          .asked = by_request,
          .matched = !pin.gate.empty()};
}

std::string PodNameOf(const Holding& holding) {
  return holding.pod_namespace + "/" + holding.pod;
}

std::string WhoIs(const Holding& holding) {
  return fmt::format("container {} of pod {}", holding.container, PodNameOf(holding));
}

// The plain init container that has still to run and asks for the resource; null: there is none.
const kube::Container* InitToRun(const kube::Pod& pod, const std::string& resource) {
  const auto found = std::ranges::find_if(pod.containers, [&](const kube::Container& container) {
    return container.kind == kube::Container::Kind::kInit && !container.succeeded &&
           (container.limits.contains(resource) || container.requests.contains(resource));
  });
  return found == pod.containers.end() ? nullptr : &*found;
}

}  // namespace

Result<std::shared_ptr<const ListedGrants>> ListedGrants::Make(kubelet::PodListPtr list, Pods pods,
                                                               GrantPins& pins,
                                                               const PromisedGrants& promised,
                                                               const PodBook& book) {
  std::vector<Record> records;
  for (const std::string& name : pins.any() ? TRY(pins.Grants()) : GrantPins::Names()) {
    const auto pin = pins.Find(name);
    if (!pin || *pin != nullptr) records.emplace_back(name, pin.value_or(nullptr));
  }
  return std::shared_ptr<const ListedGrants>(
      new ListedGrants(std::move(list), std::move(pods), std::move(records), promised, book));
}

ListedGrants::ListedGrants(kubelet::PodListPtr list, Pods pods, std::vector<Record> records,
                           const PromisedGrants& promised, const PodBook& book)
    : list_(std::move(list)),
      pods_(std::move(pods)),
      promised_(promised),
      book_(book),
      records_(std::move(records)) {
  std::vector<HeldGrant> all;
  std::set<std::string> named;
  for (const Holding& holding : list_->holdings) {
    named.insert(all.emplace_back(GrantOf(holding)).name);
  }
  for (const Record& record : records_) {
    if (!named.contains(record.first)) AddRecord(record, all);
  }
  held_ = std::make_shared<const HeldGrants>(std::move(all));
}

PodPtr ListedGrants::Asked(const Holding& holding) const {
  const auto found = pods_.find(PodNameOf(holding));
  return found == pods_.end() ? nullptr : found->second;
}

// By the watch, which may be late: another pod may have that name by now.
PodPtr ListedGrants::Seen(const Holding& holding) const {
  PodPtr asked = Asked(holding);
  return asked != nullptr ? asked : book_.FindNamed(PodNameOf(holding));
}

// It is decided by its pod's UID alone where its pod says what it is worth. A record says itself
// whose it is: what the pod's name leads to has to be the same.
HeldGrant ListedGrants::GrantOf(const Holding& holding) const {
  const auto promise = promised_.Find(holding.resource, holding.share_ids, list_->asked);
  HeldGrant held = HeldBy(PodNameOf(holding), holding.container, holding.resource,
                          holding.share_ids, promise ? *promise : Grant());
  const Record* record = RecordOf(holding, held.name);
  const Pin* pin = record == nullptr ? nullptr : record->second.get();
  if (pin != nullptr && held.name.empty()) {
    held = ByRecord(record->first, *pin);
    held.ids = holding.share_ids;
    held.pod_uid = PodNameOf(holding);
  }
  const bool is_new = pin == nullptr && !held.name.empty();
  const PodPtr pod = is_new ? Asked(holding) : Seen(holding);
  if (is_new && !held.by_request()) return held;
  if (pin != nullptr && IsPodName(pin->pod_uid)) return held;
  if (pod != nullptr) {
    held.pod_uid = pod->KubeletUid();
  } else if (pin != nullptr) {
    held.pod_uid = pin->pod_uid;
  }
  return held;
}

// The one of that name, or else the only one that can be this container's; null: there is none.
const ListedGrants::Record* ListedGrants::RecordOf(const Holding& holding,
                                                   const std::string& name) const {
  const auto may_be = [&](const Record& record) {
    if (!name.empty()) return record.first == name;
    return record.second != nullptr && MayBe(*record.second, holding);
  };
  const auto first = std::ranges::find_if(records_, may_be);
  if (first == records_.end()) return nullptr;
  return std::find_if(first + 1, records_.end(), may_be) == records_.end() ? &*first : nullptr;
}

// Whether what was bound is what this container has.
bool ListedGrants::MayBe(const Pin& pin, const Holding& holding) const {
  if (pin.resource != holding.resource || pin.container != holding.container) return false;
  if (IsPodName(pin.pod_uid)) {
    return pin.pod_uid == PodNameOf(holding) && pin.ids == holding.share_ids;
  }
  const PodPtr pod = Seen(holding);
  if (pod != nullptr && pin.pod_uid != pod->KubeletUid()) return false;
  return pin.ids == holding.share_ids || (pin.ids.empty() && pod != nullptr);
}

// Nobody tells which of them have ended. A pod that counts as a whole has, once the API server has
// it no more, and the list nobody that may be it. Of shares each counts once, with the most that
// any record has of it: as what the pod has that holds it by now.
void ListedGrants::AddRecord(const Record& record, std::vector<HeldGrant>& all) const {
  const auto& [name, pin] = record;
  if (pin == nullptr) {
    all.push_back(
        {.pod_uid = kNobody, .container = "?", .resource = "", .name = name, .asked = true});
    return;
  }
  const auto may_be = [&](const Holding& holding) { return MayBe(*pin, holding); };
  if (!pin->decision.empty() && book_.Find(pin->pod_uid) == nullptr &&
      std::ranges::none_of(list_->holdings, may_be)) {
    return;
  }
  HeldGrant held = ByRecord(name, *pin);
  if (!pin->decision.empty()) return all.push_back(std::move(held));
  std::map<std::string, std::vector<std::string>> shares;  // by pod
  for (const std::string& id : pin->ids) {
    const auto holds = [&](const Holding& holding) {
      return holding.resource == pin->resource && std::ranges::count(holding.share_ids, id) > 0;
    };
    const auto holder = std::ranges::find_if(list_->holdings, holds);
    const bool listed = holder != list_->holdings.end();
    const auto place = static_cast<size_t>(holder - list_->holdings.begin());
    shares[listed ? all[place].pod_uid : kNobody].push_back(id);
  }
  for (auto& [pod, ids] : shares) {
    held.pod_uid = pod;
    held.ids = std::move(ids);
    all.push_back(held);
  }
}

// Of the list.
Result<size_t> ListedGrants::OwnerOf(const std::string& resource,
                                     const std::vector<std::string>& ids) const {
  std::vector<std::string> sorted = ids;
  std::ranges::stable_sort(sorted, NaturalLess());
  const auto is_it = [&](const Holding& holding) {
    return holding.resource == resource && holding.share_ids == sorted;
  };
  const auto begin = list_->holdings.begin();
  const auto end = list_->holdings.end();
  const auto own = std::find_if(begin, end, is_it);
  if (own == end) {
    return Doubt(resource,
                 "its pod-resources API names no container that holds {}, as it never names init "
                 "containers",
                 Join(ids, ","));
  }
  if (const auto other = std::find_if(own + 1, end, is_it); other != end) {
    return Doubt(resource, "its pod-resources API has {} hold {}, and {} too", WhoIs(*own),
                 Join(ids, ","), WhoIs(*other));
  }
  const auto of_same_name = [&](const Holding& holding) {
    return holding.resource == resource && holding.container == own->container &&
           PodNameOf(holding) == PodNameOf(*own) && holding.share_ids != sorted;
  };
  if (std::any_of(begin, end, of_same_name)) {
    return Doubt(resource, "its pod-resources API has two of that name: {}", WhoIs(*own));
  }
  return static_cast<size_t>(own - begin);
}

Result<const HeldGrant*> ListedGrants::Find(const std::string& resource,
                                            const std::vector<std::string>& ids, bool cdi) const {
  const size_t mine = TRY(OwnerOf(resource, ids));
  const Holding& own = list_->holdings[mine];
  const PodPtr pod = Seen(own);
  if (const auto* init = pod == nullptr ? nullptr : InitToRun(*pod, resource)) {
    return Doubt(resource, "init container {}, which nothing else tells from {}, has not run yet",
                 init->name, WhoIs(own));
  }
  const HeldGrant& held = held_->all()[mine];
  if (held.name.empty()) {
    return Doubt(resource,
                 "this agent, since it began, has not been asked for what {} holds, nor is that "
                 "for sure what a record of it says: delete the pod",
                 WhoIs(own));
  }
  if (!cdi || held.matched || !held.answer.mounts.empty()) {
    return Doubt(resource, "without CDI nothing else tells for sure whose the grant of {} is",
                 WhoIs(own));
  }
  TRY(CheckAlone(mine));
  return &held;
}

// As GrantDecider does by a pod's UID, which may not be known here.
Status ListedGrants::CheckAlone(size_t mine) const {
  const Holding& own = list_->holdings[mine];
  for (size_t i = 0; i < list_->holdings.size(); ++i) {
    const Holding& other = list_->holdings[i];
    const bool same = other.pod_namespace == own.pod_namespace && other.pod == own.pod &&
                      other.container == own.container && other.resource != own.resource;
    if (!same || held_->all()[i].name.empty()) continue;
    return NotAlone(own.container, PodNameOf(own), own.resource, other.resource);
  }
  return {};
}

}  // namespace tessera::agent
