// SPDX-License-Identifier: Apache-2.0
// Chooses a pod's node among those with room: the best by policy. Where kube-scheduler's own scores
// also count, it keeps several of the best. Pure. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/pod.h"

namespace tessera::scheduler {

enum class NodePolicy : uint8_t {
  kBinpack,  // the fullest node that has room
  kSpread,   // the emptiest node
};

// For a pod with node preferences and no hami::kNodeChoices.
inline constexpr size_t kUsualChoices = 16;

// The value of hami::kNodeChoices. If it is missing or invalid, 1 or kUsualChoices.
size_t ChoicesOf(const kube::Pod& pod);

using NodeScores = std::map<std::string, int64_t, std::less<>>;

// Equally full nodes are ordered by name. Fullness is from 0 to kFull.
class NodeChoice {
 public:
  static constexpr float kFull = 30;  // ScoreOf with weights of 1

  NodeChoice(NodePolicy policy, size_t most) : policy_(policy), most_(most) {}

  // Whether the node would be among the best, so that its room is worth a check.
  bool Wants(std::string_view name, float fullness) const;
  // Adds a wanted node that has room. Returns whether it is the best so far.
  bool Add(std::string_view name, float fullness);

  bool empty() const { return nodes_.empty(); }
  // Best first.
  std::vector<std::string> Names() const;
  // From 0 to 10, as for any extender. Higher is better.
  NodeScores Scores() const;

 private:
  struct Node {
    std::string_view name;  // owned by the caller
    float fullness;
  };
  bool IsBetter(const Node& a, const Node& b) const;

  const NodePolicy policy_;
  const size_t most_;
  std::vector<Node> nodes_;  // best first
};

}  // namespace tessera::scheduler
