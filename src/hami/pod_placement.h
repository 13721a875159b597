// SPDX-License-Identifier: Apache-2.0
// The placement of a pod, as its scheduler wrote it in the pod's annotations. Every party that may
// change the pod can forge them, so they are checked. Entries have no fixed position since HAMi
// 2.10. Pure; any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hami/pod_devices.h"
#include "hami/vendor.h"
#include "placement/placement.h"

namespace tessera::hami {

// The entry of each container. Reads Vendor::pod_allocated, because pod_to_allocate may have lost
// entries. The first entry with devices belongs to the first container that asks, init containers
// and sidecars first. Fails with kInvalid if the numbers of entries and of such containers differ.
// Containers that do not ask, or that HAMi ignores, have an empty entry.
Result<std::vector<Entry>> EntriesByContainer(std::span<const kube::Container> containers,
                                              const RequestRules& rules, const Vendor& vendor,
                                              std::span<const Entry> allocated);

// True if a scheduler has placed the pod.
bool IsPlaced(const kube::Pod& pod, const Vendor& vendor);
// True if it has placed the pod on any vendor's devices.
bool IsPlaced(const kube::Pod& pod);
// The scheduler's placement. kNotPlaced if there is none, or it is for another node. kBadDecision
// if it does not match the containers' requests or this node's GPUs.
Result<PodPlacement> ReadPlacement(const kube::Pod& pod, const Vendor& vendor,
                                   const RequestRules& rules,
                                   std::span<const DeviceCapacity> capacities);
// The scheduler's annotations on the pod, for people: the first vendor with chosen devices.
struct SchedulerDecision {
  std::string_view by{};  // empty: not placed
  std::string_view node{};
  std::string_view phase{};
  std::string_view allocated{};
};
SchedulerDecision SchedulerDecisionOf(const kube::Pod& pod);
std::vector<Fraction> PartsOf(const Entry& entry);
// The fractions as an annotation's entry.
Entry EntryOf(std::span<const Fraction> parts, const Vendor& vendor);

// True if the container asks to run without the library.
bool WantsNoControl(const kube::Pod& pod, std::string_view container);

}  // namespace tessera::hami
