// SPDX-License-Identifier: Apache-2.0
// Devices that are divided in parts of fixed sizes, at fixed places, instead of any shares. Pure;
// plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// Which of a device's slices a part takes.
struct SliceRange {
  uint32_t start = 0;
  uint32_t size = 0;
  bool operator==(const SliceRange&) const = default;
};

// A size in which parts can be had.
struct SliceProfile {
  std::string name{};
  int32_t memory = 0;                // MiB
  int32_t cores = 0;                 // percent of the device's compute time
  int32_t slices = 0;                // of its compute time
  std::vector<SliceRange> places{};  // where there can be one, in the order in which they are taken
  bool operator==(const SliceProfile&) const = default;
};

// One bit a slice. All of them where the range is empty or a device has not so many.
uint64_t BitsOf(const SliceRange& range);

// A part of a device that a container gets.
struct Slice {
  std::string profile{};
  SliceRange range{};
  int32_t memory = 0;
  int32_t cores = 0;
};
// The smallest that has so much memory and for which there is place beside those that are taken.
// Of as much memory that of fewer slices of compute time, then the first.
std::optional<Slice> SmallestSlice(std::span<const SliceProfile> profiles, uint64_t taken,
                                   int64_t memory);

}  // namespace tessera
