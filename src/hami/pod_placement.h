// SPDX-License-Identifier: Apache-2.0
// What HAMi's scheduler chose for the containers of a pod, as it wrote it on the pod. An annotation
// can be written by whoever may change the pod, and HAMi 2.10 writes it so that the places of its
// entries say nothing. Pure; any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hami/pod_devices.h"
#include "hami/vendor.h"
#include "placement/placement.h"

namespace tessera::hami {

// The entries of all that was allocated to the pod (Vendor::pod_allocated: of pod_to_allocate, some
// may be gone already), one for each container: the first that is not empty belongs to the first
// that asks, init containers and sidecars before the others. kInvalid when there are more or fewer
// than containers that ask. Those that HAMi passes over have none, as the ones that do not ask.
Result<std::vector<Entry>> EntriesByContainer(std::span<const kube::Container> containers,
                                              const RequestRules& rules, const Vendor& vendor,
                                              std::span<const Entry> allocated);

// Whether a scheduler has chosen GPUs for the pod.
bool IsPlaced(const kube::Pod& pod, const Vendor& vendor);
// Likewise, of any vendor.
bool IsPlaced(const kube::Pod& pod);
// What it chose. kNotPlaced where nobody has, or for another node; kBadDecision where what stands
// there is not what the containers ask for, on GPUs of this node.
Result<PodPlacement> ReadPlacement(const kube::Pod& pod, const Vendor& vendor,
                                   const RequestRules& rules,
                                   std::span<const DeviceCapacity> capacities);
// What the scheduler wrote on the pod, of the first vendor whose devices it chose; for people.
struct SchedulerDecision {
  std::string_view by{};  // empty: it has chosen nothing
  std::string_view node{};
  std::string_view phase{};
  std::string_view allocated{};
};
SchedulerDecision SchedulerDecisionOf(const kube::Pod& pod);
std::vector<Fraction> PartsOf(const Entry& entry);
// As the annotations have it.
Entry EntryOf(std::span<const Fraction> parts, const Vendor& vendor);

// Whether the container goes without the library, as it says itself.
bool WantsNoControl(const kube::Pod& pod, std::string_view container);

}  // namespace tessera::hami
