// SPDX-License-Identifier: Apache-2.0
#include "agent/pod_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/text.h"
#include "hami/pod_placement.h"
#include "placement/placement.h"

namespace tessera::agent {
namespace {

json::Object TextsOf(const kube::Texts& texts) {
  json::Object object;
  for (const auto& [key, value] : texts) object[key] = value;
  return object;
}

json::Array Strings(const auto& texts) {
  json::Array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

std::string_view KindName(kube::Container::Kind kind) {
  switch (kind) {
    case kube::Container::Kind::kInit:
      return "init";
    case kube::Container::Kind::kSidecar:
      return "sidecar";
    case kube::Container::Kind::kApp:
      break;
  }
  return "app";
}

std::string_view PhaseName(kube::Pod::Phase phase) {
  switch (phase) {
    case kube::Pod::Phase::kPending:
      return "Pending";
    case kube::Pod::Phase::kRunning:
      return "Running";
    case kube::Pod::Phase::kSucceeded:
      return "Succeeded";
    case kube::Pod::Phase::kFailed:
      return "Failed";
    case kube::Pod::Phase::kUnknown:
      break;
  }
  return "";
}

json::Object RefusalPage(const RecordedRefusal& refusal) {
  return {{"resource", refusal.resource},     {"reason", ReasonName(refusal.error.reason)},
          {"message", refusal.error.message}, {"advice", ReasonAdvice(refusal.error.reason)},
          {"count", refusal.count},           {"first", FormatTime(refusal.first)},
          {"last", FormatTime(refusal.last)}, {"over", refusal.over}};
}

// The agent's facts about one pod.
class KnownPod {
 public:
  KnownPod(const PodFacts& facts, const std::string& name) : facts_(facts), name_(name) {
    pod_ = facts.context.pods.FindNamed(name);
    const std::vector<RecordedRefusal> refusals = facts.context.events.RecordedRefusals();
    FindUids(refusals);
    if (pod_ == nullptr && !uids_.empty())
      pod_ = facts.context.pods.Find(uids_.front());  // a static pod's
    for (const Holding& holding : facts.ledger.holdings()) {
      if (NameOf(holding) == name || IsOwn(holding.pod_uid)) holdings_.push_back(&holding);
    }
    for (const auto& [grant, record] : facts.grants) {
      if (IsOwn(record->pod_uid) || record->pod_uid == name) grants_.emplace_back(grant, record);
    }
    std::ranges::sort(grants_, {}, &BindingStore::Known::value_type::first);
    for (const RecordedRefusal& refusal : refusals) {
      if (refusal.pod == name || IsOwn(refusal.pod_uid)) refusals_.push_back(refusal);
      if (refusal.pod.empty() && refusal.pod_uid.empty()) nobodys_.push_back(refusal);
    }
  }

  bool known() const {
    return pod_ != nullptr || !holdings_.empty() || !grants_.empty() || !refusals_.empty();
  }

  json::Value Page() const {
    json::Array containers;
    for (const std::string& name : ContainerNames()) containers.push_back(ContainerPage(name));
    json::Object page{
        {"pod", name_},
        {"uid", uids_.empty() ? "" : uids_.front()},
        {"node", facts_.node},
        {"phase", pod_ == nullptr ? "" : PhaseName(pod_->phase)},
        {"deleting", pod_ != nullptr && pod_->deleting},
        {"placement", PlacementPage()},
        {"annotations", pod_ == nullptr ? json::Object() : TextsOf(pod_->annotations)},
        {"containers", std::move(containers)}};
    // kubelet had not named the pod of these refusals. It may be this one.
    json::Array perhaps;
    const std::set<std::string> resources = Resources();
    for (const RecordedRefusal& refusal : nobodys_) {
      if (resources.contains(refusal.resource)) perhaps.push_back(RefusalPage(refusal));
    }
    for (const RecordedRefusal& refusal : refusals_) {
      if (refusal.container.empty()) perhaps.push_back(RefusalPage(refusal));
    }
    page["refusals"] = std::move(perhaps);
    return page;
  }

  Error Unknown() const {
    std::string message = fmt::format(
        "node {}: neither kubelet nor the API server reports pod {}. It is on another node (see "
        "'kubectl get pod -o wide'), has ended, requests nothing served here, or is misspelt",
        facts_.node, Brief(name_));
    if (!nobodys_.empty()) {
      const RecordedRefusal& newest = nobodys_.front();
      message += fmt::format(
          "; the last container that was refused before kubelet named its pod: "
          "{}, {}",
          FormatTime(newest.last), newest.error.message);
    }
    return {Reason::kNotFound, message};
  }

 private:
  static std::string NameOf(const Holding& holding) {
    return holding.pod.empty() ? "" : holding.pod_namespace + "/" + holding.pod;
  }
  bool IsOwn(const std::string& uid) const { return std::ranges::count(uids_, uid) > 0; }

  // An earlier pod may have had the same name, so there may be several UIDs.
  void FindUids(std::span<const RecordedRefusal> refusals) {
    if (pod_ != nullptr) uids_.push_back(pod_->KubeletUid());
    for (const Holding& holding : facts_.ledger.holdings()) {
      if (NameOf(holding) == name_ && !holding.pod_uid.empty()) uids_.push_back(holding.pod_uid);
    }
    for (const RecordedRefusal& refusal : refusals) {
      if (refusal.pod == name_ && !refusal.pod_uid.empty()) uids_.push_back(refusal.pod_uid);
    }
  }

  const kube::Container* ContainerOf(const std::string& name) const {
    if (pod_ == nullptr) return nullptr;
    const auto found = std::ranges::find(pod_->containers, name, &kube::Container::name);
    return found == pod_->containers.end() ? nullptr : &*found;
  }

  // The pod's containers in the order in which they run, then names that the pod does not have.
  std::vector<std::string> ContainerNames() const {
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
      if (!name.empty() && std::ranges::count(names, name) == 0) names.push_back(name);
    };
    if (pod_ != nullptr) {
      for (const kube::Container& container : pod_->containers) add(container.name);
    }
    for (const Holding* holding : holdings_) add(holding->container);
    for (const auto& [grant, record] : grants_) add(record->container);
    for (const RecordedRefusal& refusal : refusals_) add(refusal.container);
    return names;
  }

  // Resources that the pod asks for or holds.
  std::set<std::string> Resources() const {
    std::set<std::string> resources;
    for (const Holding* holding : holdings_) resources.insert(holding->resource);
    if (pod_ == nullptr) return resources;
    for (const kube::Container& container : pod_->containers) {
      for (const auto& [resource, quantity] : container.limits) resources.insert(resource);
      for (const auto& [resource, quantity] : container.requests) resources.insert(resource);
    }
    return resources;
  }

  json::Object PlacementPage() const {
    const bool fitted =
        std::ranges::any_of(grants_, [](const auto& grant) { return grant.second->fitted; });
    const auto scheduled =
        pod_ == nullptr ? hami::SchedulerDecision() : hami::SchedulerDecisionOf(*pod_);
    std::string_view by = holdings_.empty() && grants_.empty() ? "" : "kubelet";
    if (!scheduled.by.empty()) by = scheduled.by;
    if (fitted) by = "agent";
    return {{"by", by},
            {"node", scheduled.node},
            {"phase", scheduled.phase},
            {"allocated", scheduled.allocated}};
  }

  struct State {
    std::string_view name;
    std::string_view advice = "";
  };
  State StateOf(const std::string& name, const json::Object& page) const {
    const auto some = [&](std::string_view key) { return !json::GetArray(page, key)->empty(); };
    if (pod_ != nullptr && HasEnded(*pod_, name)) return {"ended"};
    const auto newest = std::ranges::find_if(refusals_, [&](const RecordedRefusal& refusal) {
      return refusal.container == name && !refusal.over;
    });
    if (newest != refusals_.end()) return {"refused", ReasonAdvice(newest->error.reason)};
    if (some("grants")) return {"bound"};
    if (some("holdings")) {
      const bool late = std::ranges::any_of(holdings_, [&](const Holding* holding) {
        return holding->container == name && facts_.late.contains(holding->resource);
      });
      if (!late) return {"holds"};
      return {"promised", "its grant is bound when kubelet creates the container; wait for that"};
    }
    if (json::GetObject(page, "asks")->empty()) return {"nothing"};
    return {"waits",
            "kubelet asks for its devices when it admits the pod: 'kubectl describe pod' says what "
            "it waits for"};
  }

  json::Value ContainerPage(const std::string& name) const {
    const kube::Container* container = ContainerOf(name);
    json::Array held;
    for (const Holding* holding : holdings_) {
      if (holding->container != name) continue;
      held.push_back(json::Object{{"resource", holding->resource},
                                  {"shares", Strings(holding->share_ids)},
                                  {"devices", Strings(facts_.ledger.DevicesOf(*holding))}});
    }
    json::Array granted;
    for (const auto& [grant, record] : grants_) {
      if (record->container != name) continue;
      granted.push_back(json::Object{{"grant", grant},
                                     {"resource", record->resource},
                                     {"parts", PartsPage(record->parts)},
                                     {"controlled", record->controlled},
                                     {"fitted", record->fitted},
                                     {"directory", record->directory},
                                     {"library", record->library}});
    }
    json::Array refused;
    for (const RecordedRefusal& refusal : refusals_) {
      if (refusal.container == name) refused.push_back(RefusalPage(refusal));
    }
    json::Object page{
        {"name", name},
        {"kind", container == nullptr ? "" : KindName(container->kind)},
        {"asks", container == nullptr ? json::Object() : TextsOf(AskedBy(*container))},
        {"holdings", std::move(held)},
        {"grants", std::move(granted)},
        {"refusals", std::move(refused)}};
    const State state = StateOf(name, page);
    page["state"] = state.name;
    page["advice"] = state.advice;
    return page;
  }

  // A limit takes precedence over a request.
  static kube::Texts AskedBy(const kube::Container& container) {
    kube::Texts asked = container.limits;
    asked.insert(container.requests.begin(), container.requests.end());
    return asked;
  }

  const PodFacts& facts_;
  const std::string name_;
  PodPtr pod_;                     // null: the API server has not reported it
  std::vector<std::string> uids_;  // kubelet's; empty: unknown
  std::vector<const Holding*> holdings_;
  BindingStore::Known grants_;
  std::vector<RecordedRefusal> refusals_;  // newest first
  std::vector<RecordedRefusal> nobodys_;   // refusals without a known pod, newest first
};

}  // namespace

json::Array PartsPage(std::span<const Fraction> parts) {
  constexpr int kMiB = 20;
  json::Array array;
  for (const Fraction& part : parts) {
    json::Object page{{"device", part.device},
                      {"memoryBytes", static_cast<uint64_t>(part.memory) << kMiB},
                      {"cores", part.cores}};
    if (!part.units.empty()) page["units"] = part.units;
    array.push_back(std::move(page));
  }
  return array;
}

Result<json::Value> PodPage(const PodFacts& facts, const std::string& name) {
  const KnownPod pod(facts, name);
  if (!pod.known()) return Fail(pod.Unknown());
  return pod.Page();
}

}  // namespace tessera::agent
