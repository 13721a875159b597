// SPDX-License-Identifier: Apache-2.0
// A node as one of a cluster's thousands, as far as its devices are concerned (core/v1): what is
// not asked for is left where it was read, heartbeats as well. Plain data; pure; any thread.
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
  Texts allocatable{};  // by resource, as it is written: "80"
  // What of it is over its bound, and not kept, in words; empty: nothing. Nobody decides by such a
  // node.
  std::string excess{};

  bool operator==(const ClusterNode&) const = default;
};

using ClusterNodePtr = std::shared_ptr<const ClusterNode>;

// What of a node is kept besides what each has.
struct ClusterNodeFields {
  Which label{};
  Which annotation{};
  Which resource{};
};

Form ClusterNodeForm(const ClusterNodeFields& wanted);

// kInvalid with the node's name and the field where it is not as Kubernetes has it.
Result<ClusterNode> ReadClusterNode(const json::Value& object, const ClusterNodeFields& wanted);

// About the memory that it takes.
size_t CostOf(const ClusterNode& node);

}  // namespace tessera::kube
