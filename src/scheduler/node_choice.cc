// SPDX-License-Identifier: Apache-2.0
#include "scheduler/node_choice.h"

#include <algorithm>
#include <cmath>

#include "hami/policies.h"

namespace tessera::scheduler {

size_t ChoicesOf(const kube::Pod& pod) {
  if (const auto asked = hami::NodeChoicesIn(pod.Annotation(hami::kNodeChoices))) return *asked;
  return pod.prefers_nodes ? kUsualChoices : 1;
}

bool NodeChoice::IsBetter(const Node& a, const Node& b) const {
  if (a.fullness == b.fullness) return a.name < b.name;
  return policy_ == NodePolicy::kSpread ? a.fullness < b.fullness : a.fullness > b.fullness;
}

bool NodeChoice::Wants(std::string_view name, float fullness) const {
  return nodes_.size() < most_ || IsBetter({name, fullness}, nodes_.back());
}

bool NodeChoice::Add(std::string_view name, float fullness) {
  const Node node{name, fullness};
  const auto place = std::ranges::find_if(nodes_, [&](const Node& n) { return IsBetter(node, n); });
  const bool best = place == nodes_.begin();
  nodes_.insert(place, node);
  if (nodes_.size() > most_) nodes_.pop_back();
  return best;
}

std::vector<std::string> NodeChoice::Names() const {
  std::vector<std::string> names;
  for (const Node& node : nodes_) names.emplace_back(node.name);
  return names;
}

NodeScores NodeChoice::Scores() const {
  constexpr int64_t kBest = 10;
  NodeScores scores;
  for (const Node& node : nodes_) {
    const int64_t full = std::lround(std::clamp(node.fullness / kFull, 0.0F, 1.0F) * kBest);
    scores[std::string(node.name)] = policy_ == NodePolicy::kSpread ? kBest - full : full;
  }
  return scores;
}

}  // namespace tessera::scheduler
