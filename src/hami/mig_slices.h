// SPDX-License-Identifier: Apache-2.0
// Converts slices of GPUs in MIG mode between placements and annotations. Pure; any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hami/mig_allocations.h"
#include "hami/mig_profile.h"
#include "placement/placement.h"

namespace tessera::hami {

// Profiles with their places in the order in which HAMi's scheduler takes them: large places stay
// free longest.
std::vector<SliceProfile> SliceProfilesOf(std::span<const MigProfile> profiles);

// The allocations for pod_allocated's entries, in the placement's order.
std::vector<MigAllocation> MigAllocationsOf(const PodPlacement& placement);

// Adds the slices in a pod's kPodMigAllocations to its usage. kInvalid if the text cannot be read.
Status AddSlices(std::string_view text, UsageByDevice& usage);

}  // namespace tessera::hami
