// SPDX-License-Identifier: Apache-2.0
// What the containers of a pod have of the node's GPUs, where that is decided pod by pod: by a
// scheduler, or here, for pods that it never saw. Pure; plain data; any thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "grant/fraction.h"
#include "grant/grant.h"
#include "kube/objects/pod.h"
#include "placement/capacity.h"
#include "placement/requests.h"
#include "placement/slices.h"

namespace tessera {

// The slice that a part of a container is, of a device that is divided in them.
struct PlacedSlice {
  size_t part = 0;  // its place among the container's parts
  std::string profile{};
  SliceRange range{};
  bool operator==(const PlacedSlice&) const = default;
};

struct PlacedContainer {
  std::string name;
  kube::Container::Kind kind = kube::Container::Kind::kApp;
  std::vector<Fraction> parts{};
  std::vector<PlacedSlice> slices{};
  bool operator==(const PlacedContainer&) const = default;
};
// Of all containers of a pod that ask, in the order of its specification.
using PodPlacement = std::vector<PlacedContainer>;

RequestRules RulesOf(const std::string& resource, const FractionRequests& requests);
DeviceCapacity CapacityOf(const Device& device, const FractionRules& fractions);
// Those of the node.
std::vector<DeviceCapacity> CapacitiesOf(const Offer& offer, const FractionRules& fractions);

// What the pod's containers ask for (asked_sizes.h), on the devices whose shares kubelet gave each.
// kBadSize where that cannot be read, or is more than can be counted.
using SharesByContainer = std::map<std::string, std::vector<std::string>, std::less<>>;
Result<PodPlacement> FitPlacement(const kube::Pod& pod, const RequestRules& rules,
                                  std::span<const DeviceCapacity> capacities,
                                  const SharesByContainer& shares);

// What of it is less than the container asks for, in words; empty: nothing.
std::string ShortfallOf(const kube::Pod& pod, const RequestRules& rules,
                        std::span<const DeviceCapacity> capacities, const PlacedContainer& placed);

// What the container has of each device while it runs.
UsageByDevice UsageOf(const PlacedContainer& container);
// Whether the container will not run again, by what the API server was last known to say.
bool HasEnded(const kube::Pod& pod, std::string_view container);
// What the pod takes of each device as long as it lives: the larger of what its init containers
// need at a time and what its app containers need together, sidecars added to both. Nothing where
// the pod has come to its end; once its init containers have, without theirs. Null: nothing more is
// known of it.
UsageByDevice UsageOfPlacement(const PodPlacement& placement, const kube::Pod* pod);

}  // namespace tessera
