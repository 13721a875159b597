// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cluster.h"

namespace tessera::scheduler {

Cluster::NodeState Cluster::Without(const NodeState& node, const std::vector<std::string>& uids) {
  NodeState without = node;
  for (const std::string& uid : uids) {
    without.taken.erase(uid);
    without.unread.erase(uid);
  }
  Recount(without);
  return without;
}

VictimsByNode Cluster::Preempt(const PreemptCall& call) const {
  const auto demand = DemandOf(call.pod);
  if (!demand) return {};
  if (demand->containers.empty()) return call.nodes;
  VictimsByNode helped;
  for (const auto& [name, victims] : call.nodes) {
    const NodeState* node = FindNode(name);
    if (node == nullptr) continue;
    const NodeState without = Without(*node, victims.uids);
    if (FitOn(&without, *demand, call.pod)) helped.emplace(name, victims);
  }
  return helped;
}

}  // namespace tessera::scheduler
