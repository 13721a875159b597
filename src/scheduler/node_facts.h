// SPDX-License-Identifier: Apache-2.0
// What new pods are judged by, of all nodes together. It is added up once somebody asks after a
// change; most of what nodes report is none here, so that asking costs nothing. One thread; what it
// gives away is never changed, and any thread may read it.
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
  // What a node has now: registered devices, or so many whole ones of the first kind
  // (whole_devices.h).
  void Put(const std::string& node, const std::vector<CandidateDevice>& devices, int64_t whole,
           const AgentMark& agent);
  void Remove(const std::string& node);

  // Never null, and the same one until something changes.
  std::shared_ptr<const webhook::ClusterFacts> All();

 private:
  struct Of {
    std::vector<webhook::MostDevices> most{};  // by kinds, up to the last that it has
    bool fits_unplaced = false;
    bool operator==(const Of&) const = default;
  };

  std::unordered_map<std::string, Of> nodes_;         // that have something of it
  std::shared_ptr<const webhook::ClusterFacts> all_;  // null: it is to be added up
};

}  // namespace tessera::scheduler
