// SPDX-License-Identifier: Apache-2.0
// Which of the nodes with room a pod goes to: the best by its policy, or, where kube-scheduler's
// own scores shall count too, a few of the best. Pure; any thread.
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
  kBinpack,  // the fullest of the nodes that have room
  kSpread,   // the emptiest
};

inline constexpr size_t kUsualChoices = 16;  // of a pod that prefers nodes and does not say

// By hami::kNodeChoices; without it, or with one that is no such number, 1 or kUsualChoices.
size_t ChoicesOf(const kube::Pod& pod);

using NodeScores = std::map<std::string, int64_t, std::less<>>;

// Equal nodes go by their names. A node's fullness is from 0 to kFull.
class NodeChoice {
 public:
  static constexpr float kFull = 30;  // ScoreOf with weights of 1

  NodeChoice(NodePolicy policy, size_t most) : policy_(policy), most_(most) {}

  // Whether it would be one of them, so that it is worth a look whether it has room.
  bool Wants(std::string_view name, float fullness) const;
  // One that it wants, and that has room. Whether it is the best so far.
  bool Add(std::string_view name, float fullness);

  bool empty() const { return nodes_.empty(); }
  // The best first.
  std::vector<std::string> Names() const;
  // From 0 to 10, as an extender's are; the better, the higher.
  NodeScores Scores() const;

 private:
  struct Node {
    std::string_view name;  // the caller's
    float fullness;
  };
  bool IsBetter(const Node& a, const Node& b) const;

  const NodePolicy policy_;
  const size_t most_;
  std::vector<Node> nodes_;  // the best first
};

}  // namespace tessera::scheduler
