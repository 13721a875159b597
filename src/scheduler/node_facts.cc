// SPDX-License-Identifier: Apache-2.0
#include "scheduler/node_facts.h"

#include <algorithm>

namespace tessera::scheduler {

void NodeFacts::Put(const std::string& node, const std::vector<CandidateDevice>& devices,
                    int64_t whole, const AgentMark& agent) {
  Of now{.fits_unplaced = agent.fits_unplaced};
  if (whole > 0) now.most.resize(1);
  for (const CandidateDevice& device : devices) {
    if (now.most.size() <= device.kind) now.most.resize(device.kind + size_t{1});
    webhook::MostDevices& most = now.most[device.kind];
    most.memory = std::max<int64_t>(most.memory, device.capacity.memory);
    ++most.on_node;
  }
  if (whole > 0) now.most[0].on_node = std::max(now.most[0].on_node, whole);
  if (now == Of()) return Remove(node);
  Of& known = nodes_[node];
  if (known == now) return;
  known = now;
  all_.reset();
}

void NodeFacts::Remove(const std::string& node) {
  if (nodes_.erase(node) > 0) all_.reset();
}

std::shared_ptr<const webhook::ClusterFacts> NodeFacts::All() {
  if (all_ != nullptr) return all_;
  auto all = std::make_shared<webhook::ClusterFacts>();
  for (const auto& [name, node] : nodes_) {
    if (all->most.size() < node.most.size()) all->most.resize(node.most.size());
    for (size_t kind = 0; kind < node.most.size(); ++kind) {
      webhook::MostDevices& most = all->most[kind];
      most.memory = std::max(most.memory, node.most[kind].memory);
      most.on_node = std::max(most.on_node, node.most[kind].on_node);
    }
    if (node.fits_unplaced) all->fitting_unplaced.insert(name);
  }
  return all_ = std::move(all);
}

}  // namespace tessera::scheduler
