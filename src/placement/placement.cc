// SPDX-License-Identifier: Apache-2.0
#include "placement/placement.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/quote.h"
#include "placement/asked_sizes.h"
#include "placement/units.h"
#include "share/share.h"

namespace tessera {
namespace {

Error Unfit(const kube::Pod& pod, std::string_view container, const Error& why) {
  return {Reason::kBadSize, fmt::format("pod {}, container {}: its request cannot be granted: {}",
                                        pod.FullName(), container, why.message)};
}

// The parts of a container: for each device, as many requested sizes as it has shares.
Result<std::vector<Fraction>> FitParts(const Request& request,
                                       std::span<const DeviceCapacity> capacities,
                                       const std::vector<std::string>& shares) {
  std::map<std::string, Fraction> parts;
  for (const std::string& share : shares) {
    const std::string device = DeviceOfShare(share);
    const auto capacity = std::ranges::find(capacities, device, &DeviceCapacity::device);
    if (capacity == capacities.end()) {
      return Fail(Reason::kInvalid, "{} is not a card of this node", Brief(device));
    }
    Fraction& part = parts.try_emplace(device, Fraction{.device = device}).first->second;
    part.memory += request.MemoryOn(capacity->memory);
    part.cores = std::min(part.cores + CoresOn(request, *capacity),
                          capacity->has_units ? capacity->cores : kAllCores);
  }
  std::vector<Fraction> all;
  for (auto& [device, part] : parts) {
    // The limiter takes 0 as no limit. A larger value does not fit an annotation and would be
    // counted wrongly.
    if (part.memory <= 0 || part.memory > std::numeric_limits<int32_t>::max()) {
      return Fail(Reason::kInvalid, "{} MiB of {} is not a valid part of a card", part.memory,
                  Brief(device));
    }
    all.push_back(std::move(part));
  }
  return all;
}

// Truncates, because annotations hold whole numbers.
int32_t Cut(double value) {
  constexpr double kMost = std::numeric_limits<int32_t>::max();
  return value > 0 ? static_cast<int32_t>(std::min(value, kMost)) : 0;
}

DeviceUsage Sum(DeviceUsage a, const DeviceUsage& b) {
  return a += b;
}

DeviceUsage Largest(const DeviceUsage& a, const DeviceUsage& b) {
  return {std::max(a.containers, b.containers), std::max(a.memory, b.memory),
          std::max(a.cores, b.cores), a.slices | b.slices};
}

// The pod's usage of one device over its phases.
struct Phases {
  DeviceUsage sidecars;
  DeviceUsage peak;  // before the app containers start
  DeviceUsage apps;

  void Add(kube::Container::Kind kind, const DeviceUsage& usage) {
    if (kind == kube::Container::Kind::kApp) {
      apps = Sum(apps, usage);
    } else {
      peak = Largest(peak, Sum(sidecars, usage));
      if (kind == kube::Container::Kind::kSidecar) sidecars = Sum(sidecars, usage);
    }
  }
};

}  // namespace

RequestRules RulesOf(const std::string& resource, const FractionRequests& requests) {
  if (requests.rules != nullptr) {
    RequestRules rules = *requests.rules;
    rules.count_name = resource;
    return rules;
  }
  return {.count_name = resource,
          .memory_name = requests.memory_name,
          .percentage_name = requests.percentage_name,
          .cores_name = requests.cores_name,
          .default_memory = requests.default_memory,
          .default_cores = requests.default_cores,
          .memory_factor = requests.memory_factor};
}

DeviceCapacity CapacityOf(const Device& device, const FractionRules& fractions) {
  DeviceCapacity capacity{
      .device = device.key.id,
      .containers = fractions.parts,
      .memory = Cut(static_cast<double>(device.memory) * fractions.memory_scaling)};
  if (fractions.core_capacity.empty()) {
    capacity.cores = Cut(kAllCores * fractions.core_scaling);
    return capacity;
  }
  const auto units = device.traits->capacities.find(fractions.core_capacity);
  capacity.has_units = true;
  if (units != device.traits->capacities.end()) {
    capacity.cores = static_cast<int32_t>(std::clamp<int64_t>(units->second, 0, UnitSet::kMost));
  }
  return capacity;
}

std::vector<DeviceCapacity> CapacitiesOf(const Offer& offer, const FractionRules& fractions) {
  std::vector<DeviceCapacity> capacities;
  for (const Device& device : offer.devices) capacities.push_back(CapacityOf(device, fractions));
  return capacities;
}

Result<PodPlacement> FitPlacement(const kube::Pod& pod, const RequestRules& rules,
                                  std::span<const DeviceCapacity> capacities,
                                  const SharesByContainer& shares) {
  if (!pod.excess.empty()) {
    return Fail(Reason::kBadSize, "pod {}: its request cannot be granted: {}", pod.FullName(),
                pod.excess);
  }
  PodPlacement placement;
  for (const kube::Container& container : pod.containers) {
    const auto held = shares.find(container.name);
    if (held == shares.end()) continue;
    const auto request = ResolveSizes(pod, container, rules);
    if (!request) return Fail(Unfit(pod, container.name, request.error()));
    if (!*request) continue;
    auto parts = FitParts(**request, capacities, held->second);
    if (!parts) return Fail(Unfit(pod, container.name, parts.error()));
    placement.push_back({container.name, container.kind, *std::move(parts)});
  }
  return placement;
}

std::string ShortfallOf(const kube::Pod& pod, const RequestRules& rules,
                        std::span<const DeviceCapacity> capacities, const PlacedContainer& placed) {
  const auto own = std::ranges::find(pod.containers, placed.name, &kube::Container::name);
  if (own == pod.containers.end()) return "";
  const auto request = Resolve(*own, rules);
  if (!request || !*request) return "";
  return LessThanAsked(placed.parts, **request, capacities);
}

bool HasEnded(const kube::Pod& pod, std::string_view container) {
  if (pod.HasEnded()) return true;
  const auto found = std::ranges::find(pod.containers, container, &kube::Container::name);
  return found != pod.containers.end() && found->kind == kube::Container::Kind::kInit &&
         found->succeeded;
}

UsageByDevice UsageOf(const PlacedContainer& container) {
  UsageByDevice usage = UsageOf(container.parts);
  for (const PlacedSlice& slice : container.slices) {
    usage[container.parts[slice.part].device].slices |= BitsOf(slice.range);
  }
  return usage;
}

UsageByDevice UsageOfPlacement(const PodPlacement& placement, const kube::Pod* pod) {
  // In the order in which kubelet starts them.
  std::vector<const PlacedContainer*> by_start;
  for (const PlacedContainer& container : placement) {
    if (pod == nullptr || !HasEnded(*pod, container.name)) by_start.push_back(&container);
  }
  std::ranges::stable_partition(by_start, [](const PlacedContainer* container) {
    return container->kind != kube::Container::Kind::kApp;
  });
  std::map<std::string, Phases> phases;
  for (const PlacedContainer* container : by_start) {
    for (const auto& [device, usage] : UsageOf(*container)) {
      phases[device].Add(container->kind, usage);
    }
  }
  UsageByDevice usage;
  for (const auto& [device, phase] : phases) {
    usage[device] = Largest(phase.peak, Sum(phase.sidecars, phase.apps));
  }
  return usage;
}

}  // namespace tessera
