// SPDX-License-Identifier: Apache-2.0
#include "scheduler/refusals.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace tessera::scheduler {

std::string TextOf(const RefusalGroups& groups) {
  size_t nodes = 0;
  std::string text;
  for (const auto& [why, group] : groups) {
    nodes += group.count;
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", why, group.count);
  }
  return fmt::format("none of {} nodes fits: {}", nodes, text);
}

bool Refusals::Put(kube::PodPtr pod, DeviceDemand demand, std::vector<std::string> nodes,
                   RefusalGroups groups, Steady now) {
  std::ranges::sort(nodes);
  // Thousands of pods usually have the same thousands of candidate nodes, so they share one list.
  if (nodes_ == nullptr || *nodes_ != nodes) {
    nodes_ = std::make_shared<const std::vector<std::string>>(std::move(nodes));
  }
  Refusal& refusal = refused_[pod->uid];
  const bool first = refusal.pod == nullptr;
  const bool news = first || TextOf(refusal.groups) != TextOf(groups);
  refusal.pod = std::move(pod);
  refusal.demand = std::move(demand);
  refusal.nodes = nodes_;
  refusal.groups = std::move(groups);
  refusal.when = now;
  refusal.change = changes_;
  return news;
}

const Refusal* Refusals::Find(const std::string& uid) const {
  const auto found = refused_.find(uid);
  return found == refused_.end() ? nullptr : &found->second;
}

void Refusals::Changed(const std::string& node) {
  if (!refused_.empty()) fresh_[node] = ++changes_;
}

std::vector<Refusal*> Refusals::ByAge() {
  std::vector<Refusal*> all;
  for (auto& [uid, refusal] : refused_) all.push_back(&refusal);
  std::ranges::sort(all, {}, [](const Refusal* one) { return one->when; });
  return all;
}

std::vector<kube::PodPtr> Refusals::ToWake(
    Steady now, const std::function<bool(const Refusal& refusal, const std::string& node)>& fits) {
  std::vector<kube::PodPtr> woken;
  Changes later = std::exchange(fresh_, {});
  const std::vector<Refusal*> refusals = ByAge();
  for (const auto& [node, change] : changed_) {
    for (Refusal* refusal : refusals) {
      if (refusal->change >= change) continue;
      if (!std::ranges::binary_search(*refusal->nodes, node)) continue;
      if (!fits(*refusal, node)) continue;
      later.emplace(node, change);  // kept until kube-scheduler retries the pod
      if (now < refusal->rest) continue;
      refusal->rest = now + refusal->pauses.Failed();
      woken.push_back(refusal->pod);
    }
  }
  changed_ = std::move(later);
  return woken;
}

}  // namespace tessera::scheduler
