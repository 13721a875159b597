// SPDX-License-Identifier: Apache-2.0
// One of a cluster's thousands of nodes, reduced to its devices (core/v1). Only requested parts are
// read, not even heartbeats. Pure. Plain data. Any thread.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "json/json.h"
#include "kube/objects/form.h"
#include "kube/objects/members.h"

namespace tessera::kube {

struct ClusterNode {
  std::string name{};
  std::string uid{};
  Texts labels{};
  Texts annotations{};
  bool unschedulable = false;
  Texts allocatable{};  // text by resource: "80"
  // Describes parts above their bound, which are not kept. Empty: none. No decision uses a node
  // with an excess.
  std::string excess{};

  bool operator==(const ClusterNode&) const = default;
};

using ClusterNodePtr = std::shared_ptr<const ClusterNode>;

// The optional parts of a node to keep.
struct ClusterNodeFields {
  Which label{};
  Which annotation{};
  Which resource{};
};

Form ClusterNodeForm(const ClusterNodeFields& wanted);

// kInvalid with the node's name and the malformed field.
Result<ClusterNode> ReadClusterNode(const json::Value& object, const ClusterNodeFields& wanted);

// Approximate memory in bytes.
size_t CostOf(const ClusterNode& node);

}  // namespace tessera::kube
