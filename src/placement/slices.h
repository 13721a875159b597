// SPDX-License-Identifier: Apache-2.0
// Devices that are divided in parts of fixed sizes at fixed places. Pure. Plain data. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// The slices that a part takes.
struct SliceRange {
  uint32_t start = 0;
  uint32_t size = 0;
  bool operator==(const SliceRange&) const = default;
};

// A size of parts.
struct SliceProfile {
  std::string name{};
  int32_t memory = 0;                // MiB
  int32_t cores = 0;                 // percent of the device's compute time
  int32_t slices = 0;                // compute slices
  std::vector<SliceRange> places{};  // allowed places, in order of use
  bool operator==(const SliceProfile&) const = default;
};

// One bit for each slice. All bits if the range is empty or out of bounds.
uint64_t BitsOf(const SliceRange& range);

// One part of a device for a container.
struct Slice {
  std::string profile{};
  SliceRange range{};
  int32_t memory = 0;
  int32_t cores = 0;
};
// The smallest profile with at least this memory and a free place. Ties: fewer compute slices, then
// the first.
std::optional<Slice> SmallestSlice(std::span<const SliceProfile> profiles, uint64_t taken,
                                   int64_t memory);

}  // namespace tessera
