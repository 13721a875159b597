// SPDX-License-Identifier: Apache-2.0
#include "placement/slices.h"

#include <algorithm>
#include <tuple>

namespace tessera {

uint64_t BitsOf(const SliceRange& range) {
  constexpr uint32_t kMost = 64;
  if (range.size == 0 || range.size >= kMost || range.start >= kMost ||
      range.start + range.size > kMost) {
    return ~uint64_t{0};
  }
  return ((uint64_t{1} << range.size) - 1) << range.start;
}

std::optional<Slice> SmallestSlice(std::span<const SliceProfile> profiles, uint64_t taken,
                                   int64_t memory) {
  const auto is_free = [&](const SliceRange& place) { return (BitsOf(place) & taken) == 0; };
  const SliceProfile* best = nullptr;
  for (const SliceProfile& profile : profiles) {
    if (profile.memory < memory || std::ranges::none_of(profile.places, is_free)) continue;
    const bool smaller = best == nullptr || std::tie(profile.memory, profile.slices) <
                                                std::tie(best->memory, best->slices);
    if (smaller) best = &profile;
  }
  if (best == nullptr) return std::nullopt;
  return Slice{best->name, *std::ranges::find_if(best->places, is_free), best->memory, best->cores};
}

}  // namespace tessera
