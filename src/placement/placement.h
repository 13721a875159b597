// SPDX-License-Identifier: Apache-2.0
// A pod's placement: the parts of the node's GPUs that its containers get. A scheduler makes it, or
// the agent for pods that no scheduler placed. Pure. Plain data. Any thread.
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

// The slice behind one part, on a device that is divided in slices.
struct PlacedSlice {
  size_t part = 0;  // index in the container's parts
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
// All containers with a request, in the order of the pod's spec.
using PodPlacement = std::vector<PlacedContainer>;

RequestRules RulesOf(const std::string& resource, const FractionRequests& requests);
DeviceCapacity CapacityOf(const Device& device, const FractionRules& fractions);
// The capacities of all offered devices.
std::vector<DeviceCapacity> CapacitiesOf(const Offer& offer, const FractionRules& fractions);

// The requested sizes (asked_sizes.h) on the devices of the shares that kubelet gave each
// container. kBadSize if a request is unreadable or too large to count.
using SharesByContainer = std::map<std::string, std::vector<std::string>, std::less<>>;
Result<PodPlacement> FitPlacement(const kube::Pod& pod, const RequestRules& rules,
                                  std::span<const DeviceCapacity> capacities,
                                  const SharesByContainer& shares);

// Describes how the placement falls short of the container's request. Empty if it does not.
std::string ShortfallOf(const kube::Pod& pod, const RequestRules& rules,
                        std::span<const DeviceCapacity> capacities, const PlacedContainer& placed);

// The container's usage of each device while it runs.
UsageByDevice UsageOf(const PlacedContainer& container);
// Whether the container will not run again, according to the last report of the API server.
bool HasEnded(const kube::Pod& pod, std::string_view container);
// The pod's usage of each device: the larger of its init phase and its app phase, each including
// sidecars. An ended pod uses none. Ended init containers do not count. With a null `pod`, all
// containers count.
UsageByDevice UsageOfPlacement(const PodPlacement& placement, const kube::Pod* pod);

}  // namespace tessera
