// SPDX-License-Identifier: Apache-2.0
#include "hami/pod_placement.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/quote.h"
#include "base/text.h"
#include "hami/names.h"
#include "hami/part_templates.h"
#include "hami/text_numbers.h"
#include "hami/vendor_table.h"

namespace tessera::hami {
namespace {

bool Asks(const kube::Container& container, const RequestRules& rules) {
  const auto request = Resolve(container, rules);
  return request && request->has_value();
}

// Indices of the containers in the order in which kubelet admits them.
std::vector<size_t> ByStart(std::span<const kube::Container> containers) {
  std::vector<size_t> order(containers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_partition(
      order, [&](size_t i) { return containers[i].kind != kube::Container::Kind::kApp; });
  return order;
}

Error Bad(const kube::Pod& pod, std::string_view container, const Error& why) {
  return {Reason::kBadDecision,
          fmt::format("pod {}{}{}: its placement does not match its request: {}", pod.FullName(),
                      container.empty() ? "" : ", container ", container, why.message)};
}

}  // namespace

Result<std::vector<Entry>> EntriesByContainer(std::span<const kube::Container> containers,
                                              const RequestRules& rules, const Vendor& vendor,
                                              std::span<const Entry> allocated) {
  std::vector<size_t> asking = ByStart(containers);
  std::erase_if(asking, [&](size_t i) { return !Asks(containers[i], rules); });
  std::vector<const Entry*> given;
  for (const Entry& entry : allocated) {
    if (!entry.empty()) given.push_back(&entry);
  }
  if (given.size() != asking.size()) {
    std::vector<std::string> names;
    for (const size_t i : asking) names.push_back(Brief(containers[i].name));
    return Fail(Reason::kInvalid, "{} has devices for {}, but {} for {}{}{}", vendor.pod_allocated,
                Count(given.size(), "container"),
                asking.size() == 1 ? "1 asks" : fmt::format("{} ask", asking.size()),
                rules.count_name, names.empty() ? "" : ": ", Join(names, ", "));
  }
  std::vector<Entry> entries(containers.size());
  for (size_t k = 0; k < asking.size(); ++k) entries[asking[k]] = *given[k];
  return entries;
}

bool IsPlaced(const kube::Pod& pod, const Vendor& vendor) {
  return !pod.Annotation(vendor.pod_allocated).empty();
}

bool IsPlaced(const kube::Pod& pod) {
  return std::ranges::any_of(AgentVendors(),
                             [&](const Vendor* vendor) { return IsPlaced(pod, *vendor); });
}

Result<PodPlacement> ReadPlacement(const kube::Pod& pod, const Vendor& vendor,
                                   const RequestRules& rules,
                                   std::span<const DeviceCapacity> capacities) {
  if (!pod.excess.empty()) return Fail(Bad(pod, "", {Reason::kBadDecision, pod.excess}));
  if (!IsPlaced(pod, vendor)) {
    return Fail(Reason::kNotPlaced,
                "pod {}: no scheduler has chosen GPUs for it: it has no annotation {}",
                pod.FullName(), vendor.pod_allocated);
  }
  if (const std::string_view node = pod.Annotation(kPodNode); node != pod.node) {
    return Fail(Reason::kNotPlaced,
                "pod {}: its GPUs were chosen for node {}, but it runs on node {}: {}",
                pod.FullName(), Brief(node), pod.node, kPodNode);
  }
  const auto entries = DecodePodDevices(pod.Annotation(vendor.pod_allocated));
  if (!entries) return Fail(Bad(pod, "", entries.error()));
  const auto of_containers = EntriesByContainer(pod.containers, rules, vendor, *entries);
  if (!of_containers) return Fail(Bad(pod, "", of_containers.error()));
  PodPlacement placement;
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const kube::Container& container = pod.containers[i];
    const auto request = Resolve(container, rules);
    if (!request) return Fail(Bad(pod, container.name, request.error()));
    if (!*request) continue;
    std::vector<Fraction> parts = PartsOf((*of_containers)[i]);
    if (const Status fits = CheckParts(parts, **request, capacities); !fits) {
      return Fail(Bad(pod, container.name, fits.error()));
    }
    placement.push_back({container.name, container.kind, std::move(parts)});
  }
  const Status named = CheckTemplates(pod, vendor, rules, placement);
  if (!named) return Fail(Bad(pod, "", named.error()));
  return placement;
}

SchedulerDecision SchedulerDecisionOf(const kube::Pod& pod) {
  SchedulerDecision said{.node = pod.Annotation(kPodNode), .phase = pod.Annotation(kPodBindPhase)};
  for (const Vendor* vendor : AgentVendors()) {
    if (!said.by.empty() || !IsPlaced(pod, *vendor)) continue;
    said.by = "hami-scheduler";
    said.allocated = pod.Annotation(vendor->pod_allocated);
  }
  return said;
}

std::vector<Fraction> PartsOf(const Entry& entry) {
  std::vector<Fraction> parts;
  for (const PodDevice& device : entry) {
    parts.push_back({.device = device.uuid, .memory = device.memory, .cores = device.cores});
  }
  return parts;
}

Entry EntryOf(std::span<const Fraction> parts, const Vendor& vendor) {
  Entry entry;
  for (const Fraction& part : parts) {
    entry.push_back({.uuid = part.device,
                     .type = std::string(vendor.word),
                     .memory = static_cast<int32_t>(part.memory),
                     .cores = part.cores});
  }
  return entry;
}

bool WantsNoControl(const kube::Pod& pod, std::string_view container) {
  const auto found = std::ranges::find(pod.containers, container, &kube::Container::name);
  if (found == pod.containers.end()) return false;
  const auto said = found->variables.find(kEnvDisableControl);
  return said != found->variables.end() && ParseBool(said->second).value_or(false);
}

}  // namespace tessera::hami
