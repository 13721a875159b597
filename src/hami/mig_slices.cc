// SPDX-License-Identifier: Apache-2.0
#include "hami/mig_slices.h"

#include <algorithm>

namespace tessera::hami {
namespace {

// True for profiles that leave the most room for others if they start at the end.
bool BeginsAtTheEnd(std::string_view profile) {
  return profile.starts_with("1g.") || profile.starts_with("3g.");
}

}  // namespace

std::vector<SliceProfile> SliceProfilesOf(std::span<const MigProfile> profiles) {
  std::vector<SliceProfile> slices;
  for (const MigProfile& profile : profiles) {
    SliceProfile slice{.name = profile.name,
                       .memory = profile.memory,
                       .cores = profile.core,
                       .slices = profile.slice_count,
                       .places = {}};
    for (const MigPlacement& place : profile.placements) {
      slice.places.push_back({place.start, place.size});
    }
    std::ranges::stable_sort(slice.places, {}, &SliceRange::start);
    if (BeginsAtTheEnd(profile.name)) std::ranges::reverse(slice.places);
    slices.push_back(std::move(slice));
  }
  return slices;
}

std::vector<MigAllocation> MigAllocationsOf(const PodPlacement& placement) {
  std::vector<MigAllocation> allocations;
  for (size_t i = 0; i < placement.size(); ++i) {
    for (const PlacedSlice& slice : placement[i].slices) {
      allocations.push_back({.container_index = static_cast<int32_t>(i),
                             .device_index = static_cast<int32_t>(slice.part),
                             .gpu_uuid = placement[i].parts[slice.part].device,
                             .profile = slice.profile,
                             .placement = {slice.range.start, slice.range.size}});
    }
  }
  return allocations;
}

Status AddSlices(std::string_view text, UsageByDevice& usage) {
  for (const MigAllocation& allocation : TRY(DecodeMigAllocations(text))) {
    const MigPlacement& place = allocation.placement;
    usage[allocation.gpu_uuid].slices |= BitsOf({place.start, place.size});
  }
  return {};
}

}  // namespace tessera::hami
