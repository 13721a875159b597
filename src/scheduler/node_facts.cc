// SPDX-License-Identifier: Apache-2.0
#include "scheduler/node_facts.h"

#include <algorithm>

namespace tessera::scheduler {

void NodeFacts::Put(const std::string& node, const std::vector<CandidateDevice>& devices,
                    int64_t whole, const AgentMark& agent) {
  Of now{.devices = std::max(static_cast<int64_t>(devices.size()), whole),
         .fits_unplaced = agent.fits_unplaced};
  for (const CandidateDevice& device : devices) {
    now.largest_memory = std::max<int64_t>(now.largest_memory, device.capacity.memory);
  }
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
    all->largest_memory = std::max(all->largest_memory, node.largest_memory);
    all->most_devices = std::max(all->most_devices, node.devices);
    if (node.fits_unplaced) all->fitting_unplaced.insert(name);
  }
  return all_ = std::move(all);
}

}  // namespace tessera::scheduler
