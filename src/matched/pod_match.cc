// SPDX-License-Identifier: Apache-2.0
#include "matched/pod_match.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/quote.h"
#include "binding/container_match.h"
#include "hami/pod_placement.h"

namespace tessera {
namespace {

// A container for which kubelet may be asking.
struct Candidate {
  PodPtr pod;
  std::string container;
};

// The pod's next container for kubelet to ask for; nothing if it asks for another number of
// devices.
std::optional<std::string> NextOf(const kube::Pod& pod, const RequestRules& rules,
                                  const ContainerClaims::Answered& answered, size_t count) {
  for (const kube::Container& container : pod.containers) {
    const auto request = Resolve(container, rules);
    if (request && !*request) continue;
    if (answered.contains({pod.KubeletUid(), container.name})) continue;
    // A request that we cannot read fits any number, because kubelet may read it.
    const bool fits = !request || static_cast<size_t>((*request)->count) == count;
    return fits ? std::optional(container.name) : std::nullopt;
  }
  return std::nullopt;
}

std::string Name(const Candidate& one) {
  return fmt::format("container {} of pod {}", one.container, one.pod->FullName());
}

}  // namespace

Result<FractionMatch> MatchPod(std::span<const PodPtr> pods,
                               const ContainerClaims::Answered& answered, const Offer& offer,
                               const FractionRules& fractions, std::span<const std::string> ids) {
  const RequestRules rules = RulesOf(offer.resource, *fractions.requests);
  std::vector<Candidate> candidates;
  for (const PodPtr& pod : pods) {
    auto next = NextOf(*pod, rules, answered, ids.size());
    if (next) candidates.push_back({pod, *std::move(next)});
  }
  if (candidates.empty()) {
    return Fail(Reason::kNotMatched,
                "{}: without CDI the agent must know the container at Allocate, but the API server "
                "reports none that waits for {} GPUs",
                offer.resource, ids.size());
  }
  if (candidates.size() > 1) {
    return Fail(
        Reason::kNotMatched,
        "{}: without CDI the agent must know the container at Allocate, but it may be {} or {}",
        offer.resource, Name(candidates[0]), Name(candidates[1]));
  }
  const auto& [pod, container] = candidates.front();
  const auto capacities = CapacitiesOf(offer, fractions);
  const bool fit =
      fractions.requests->fit_unplaced && !hami::IsPlaced(*pod, *fractions.requests->vendor);
  const SharesByContainer shares = {{container, {ids.begin(), ids.end()}}};
  const auto placement =
      fit ? FitPlacement(*pod, rules, capacities, shares)
          : hami::ReadPlacement(*pod, *fractions.requests->vendor, rules, capacities);
  if (!placement) {
    // The message may reach another pod, which the watch has not reported yet, so it names none.
    return Fail(placement.error().reason,
                "{}: without CDI the agent assumes the only pod that waits for {} GPUs: {}",
                offer.resource, ids.size(), placement.error().message);
  }
  const auto own = std::ranges::find(*placement, container, &PlacedContainer::name);
  if (own != placement->end()) return MatchOf(*pod, *own, fractions);
  return Fail(Reason::kBadDecision, "pod {}: nothing was chosen for container {}", pod->FullName(),
              container);
}

}  // namespace tessera
