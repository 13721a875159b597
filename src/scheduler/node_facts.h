// SPDX-License-Identifier: Apache-2.0
// The facts of all nodes by which the webhook judges new pods. The sum is computed at the first
// query after a change. Most node updates do not change it, so a query is usually free.
// One thread. The returned facts never change, so any thread may read them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "placement/agent_mark.h"
#include "placement/device_choice.h"
#include "webhook/rules.h"

namespace tessera::scheduler {

class NodeFacts {
 public:
  // Replaces a node's facts: its registered devices, or its number of whole devices of the first
  // kind (whole_devices.h).
  void Put(const std::string& node, const std::vector<CandidateDevice>& devices, int64_t whole,
           const AgentMark& agent);
  void Remove(const std::string& node);

  // Never null. The same object until a fact changes.
  std::shared_ptr<const webhook::ClusterFacts> All();

 private:
  struct Of {
    std::vector<webhook::MostDevices> most{};  // by kind, up to the node's last kind
    bool fits_unplaced = false;
    bool operator==(const Of&) const = default;
  };

  std::unordered_map<std::string, Of> nodes_;         // nodes with any fact
  std::shared_ptr<const webhook::ClusterFacts> all_;  // null: outdated
};

}  // namespace tessera::scheduler
