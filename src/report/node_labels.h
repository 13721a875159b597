// SPDX-License-Identifier: Apache-2.0
// Labels on the node itself: what is to be sent to the API server so that the node has the labels
// wanted. A key has one owner. What node feature discovery has put there is its own, by the
// annotation in which it lists it; what any other has put there is theirs; what we have put there
// is in an annotation of ours, which changes in the same request as the labels, so that no crash
// leaves a label behind that nobody knows to be ours. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/labeller.h"
#include "json/json.h"
#include "kube/objects/metadata.h"

namespace tessera {

// The keys that are ours, parted by commas, in order.
inline constexpr char kOwnedLabels[] = "tessera.dev/owned-labels";
// Those of node feature discovery; with the name of an instance of it and a dot before it as well.
inline constexpr char kNfdLabels[] = "nfd.node.kubernetes.io/feature-labels";

struct NodePatch {
  // A JSON merge patch; nothing: the node is as it should be.
  std::optional<json::Object> patch{};
  std::vector<std::string> others{};  // keys that are wanted and that others own, which are left
};

// The node with the labels wanted, and without those of ours that are not.
NodePatch PatchLabels(const Labels& wanted, const kube::Metadata& node);
// The node as if we had never been there.
NodePatch PatchWithoutLabels(const kube::Metadata& node);

}  // namespace tessera
