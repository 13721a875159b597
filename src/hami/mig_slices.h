// SPDX-License-Identifier: Apache-2.0
// The slices of GPUs in MIG mode: what a placement says of them, as annotations have it, and back.
// Pure; any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hami/mig_allocations.h"
#include "hami/mig_profile.h"
#include "placement/placement.h"

namespace tessera::hami {

// In the order in which HAMi's scheduler takes their places: such that large ones are left.
std::vector<SliceProfile> SliceProfilesOf(std::span<const MigProfile> profiles);

// For pod_allocated's entries in the order of the placement.
std::vector<MigAllocation> MigAllocationsOf(const PodPlacement& placement);

// What a pod has by the text of its kPodMigAllocations, in addition to what it has by its devices.
// kInvalid where that cannot be read.
Status AddSlices(std::string_view text, UsageByDevice& usage);

}  // namespace tessera::hami
