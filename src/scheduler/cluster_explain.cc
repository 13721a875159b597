// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "scheduler/cluster.h"

namespace tessera::scheduler {
namespace {

// Nodes for which the explanation lists blockers.
constexpr size_t kMostBlocked = 3;

}  // namespace

Explanation Cluster::Explain(const std::string& name, Steady now) const {
  Explanation explanation{.pod = name};
  const kube::PodPtr pod = FindWaiting(name);
  if (pod == nullptr) {
    const auto taker =
        std::ranges::find_if(takers_, [&](const auto& entry) { return entry.second.pod == name; });
    explanation.state = taker == takers_.end() ? "no pod of this name waits or has devices"
                                               : "it is bound to node " + taker->second.node;
    return explanation;
  }
  const auto hold = holds_.find(pod->uid);
  if (hold != holds_.end()) {
    explanation.state =
        (hold->second.sent ? "a Binding was sent for node " : "room is held for it on node ") +
        hold->second.node;
    return explanation;
  }
  ExplainNodes(*pod, explanation);
  const Refusal* refusal = refusals_.Find(pod->uid);
  if (refusal != nullptr) {
    explanation.tried_seconds_ago =
        std::chrono::duration_cast<std::chrono::seconds>(now - refusal->when).count();
  }
  if (!explanation.fit.empty()) {
    explanation.state = "a node fits, and the pod waits for its next try";
  } else if (refusal == nullptr) {
    explanation.state = "no node fits, and kube-scheduler has not asked about it";
  } else {
    explanation.state = "no node fits";
  }
  return explanation;
}

kube::PodPtr Cluster::FindWaiting(const std::string& name) const {
  for (const auto& [uid, pod] : waiting_) {
    if (pod->FullName() == name) return pod;
  }
  return nullptr;
}

// Covers the nodes of the last Filter call, or all nodes if there was none.
void Cluster::ExplainNodes(const kube::Pod& pod, Explanation& explanation) const {
  const auto demand = DemandOf(pod);
  const Refusal* refusal = refusals_.Find(pod.uid);
  std::vector<std::string> names;
  if (refusal != nullptr) {
    names = *refusal->nodes;
  } else {
    names = NodeNames();
    std::ranges::sort(names);
  }
  for (const std::string& name : names) {
    const NodeState* node = FindNode(name);
    const Fit fit = demand ? FitOn(node, *demand, pod) : Fit();
    if (demand && fit) {
      if (explanation.fit.size() < RefusalGroup::kMostNamed) explanation.fit.push_back(name);
      continue;
    }
    const std::string why(demand ? fit.error().why : std::string_view(demand.error().message));
    explanation.groups[why].Add(name);
    if (!demand || !fit.error().passes || explanation.blockers.size() == kMostBlocked) continue;
    auto blockers = BlockersOn(*node, *demand);
    if (!blockers.empty()) explanation.blockers.emplace(name, std::move(blockers));
  }
}

// Prefers one pod whose end suffices; otherwise adds pods until the pod fits.
std::vector<std::string> Cluster::BlockersOn(const NodeState& node,
                                             const DeviceDemand& demand) const {
  const auto fits_without = [&](const std::vector<std::string>& uids) {
    const NodeState without = Without(node, uids);
    return FitOn(&without, demand).has_value();
  };
  std::vector<std::string> all;
  for (const auto& [uid, usage] : node.taken) all.push_back(uid);
  all.insert(all.end(), node.unread.begin(), node.unread.end());
  const auto one =
      std::ranges::find_if(all, [&](const std::string& uid) { return fits_without({uid}); });
  std::vector<std::string> gone;
  if (one != all.end()) {
    gone = {*one};
  } else {
    bool fits = false;
    for (auto uid = all.begin(); uid != all.end() && !fits; ++uid) {
      gone.push_back(*uid);
      fits = fits_without(gone);
    }
    if (!fits) return {};
  }
  std::vector<std::string> names;
  for (const std::string& uid : gone) names.push_back(takers_.at(uid).pod);
  return names;
}

}  // namespace tessera::scheduler
