// SPDX-License-Identifier: Apache-2.0
// What the containers of a pod have of the node's GPUs, where that is decided pod by pod: by HAMi's
// scheduler, which wrote it on the pod, or here, for pods that it never saw. Pure; plain data; any
// thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "grant/grant.h"
#include "grant/vgpu.h"
#include "hami/node_register.h"
#include "hami/requests.h"
#include "kube/objects/pod.h"

namespace tessera {

struct PlacedContainer {
  std::string name;
  hami::ContainerKind kind = hami::ContainerKind::kApp;
  std::vector<VgpuPart> parts;
  bool operator==(const PlacedContainer&) const = default;
};
// Of all containers of a pod that ask, in the order of its specification.
using PodPlacement = std::vector<PlacedContainer>;

hami::RequestRules RulesOf(const std::string& resource, const VgpuRequests& requests);
// A GPU as it can be asked for: what HAMi's scheduler is told of it and what is granted of it at
// most are the same.
hami::RegisteredDevice CardOf(const Device& device, const Vgpu& vgpu);
// Those of the node.
std::vector<hami::RegisteredDevice> CardsOf(const Offer& offer, const Vgpu& vgpu);

// Of the pod, as HAMi's rules want them.
std::vector<hami::Container> ContainersOf(const kube::Pod& pod);
// Whether a scheduler has chosen GPUs for the pod.
bool IsPlaced(const kube::Pod& pod);
// What it chose. kNotPlaced where nobody has, or for another node; kBadDecision where what stands
// there is not what the containers ask for, on cards of this node.
Result<PodPlacement> ReadPlacement(const kube::Pod& pod, const hami::RequestRules& rules,
                                   std::span<const hami::RegisteredDevice> cards);
// What the pod's containers ask for (asked_sizes.h), on the cards whose shares kubelet gave each.
// kBadSize where that cannot be read, or is more than can be counted.
using SharesByContainer = std::map<std::string, std::vector<std::string>, std::less<>>;
Result<PodPlacement> FitPlacement(const kube::Pod& pod, const hami::RequestRules& rules,
                                  std::span<const hami::RegisteredDevice> cards,
                                  const SharesByContainer& shares);

// What of it is less than the container asks for, in words; empty: nothing.
std::string LessThanAsked(const kube::Pod& pod, const hami::RequestRules& rules,
                          std::span<const hami::RegisteredDevice> cards,
                          const PlacedContainer& decided);
// As HAMi's annotations have it.
hami::Entry EntryOf(std::span<const VgpuPart> parts);

// Whether the container will not run again, by what the API server was last known to say.
bool HasEnded(const kube::Pod& pod, std::string_view container);
// What the pod takes of each card as long as it lives. Nothing where it has come to its end; once
// its init containers have, without theirs. Null: nothing more is known of it.
std::map<std::string, hami::CardUsage> UsageOf(const PodPlacement& placement, const kube::Pod* pod);

// Whether the container goes without the library, as it says itself.
bool WantsNoControl(const kube::Pod& pod, std::string_view container);

}  // namespace tessera
