// SPDX-License-Identifier: Apache-2.0
// Computes patches for labels on the node object. Each key has one owner. Node feature discovery
// lists its keys in an annotation, and we list ours in another one. Any other present key belongs
// to another party. Our annotation changes in the same request as the labels, so after a crash
// every label of ours is still listed. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/labeller.h"
#include "json/json.h"
#include "kube/objects/metadata.h"

namespace tessera {

// Our keys, comma-separated and sorted.
inline constexpr char kOwnedLabels[] = "tessera.dev/owned-labels";
// Node feature discovery's keys. An instance with a name puts the name and a dot before this.
inline constexpr char kNfdLabels[] = "nfd.node.kubernetes.io/feature-labels";

struct NodePatch {
  // A JSON merge patch; nothing: the node is as wanted.
  std::optional<json::Object> patch{};
  std::vector<std::string> others{};  // wanted keys of other owners; left alone
};

// Sets the wanted labels, and removes our labels that are not wanted.
NodePatch PatchLabels(const Labels& wanted, const kube::Metadata& node);
// Removes all of our labels and our annotation.
NodePatch PatchWithoutLabels(const kube::Metadata& node);

}  // namespace tessera
