// SPDX-License-Identifier: Apache-2.0
// The devices that are closest to each other, by their links: NVLink beats PCIe beats NUMA when
// the backend says so in its scores. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"

namespace tessera {

// How close each of some devices is to each other of them: the points that both ends' links have
// for it; parts of one device are closer than any two devices without links of their own kind.
class Closeness {
 public:
  explicit Closeness(std::span<const Device* const> devices);

  size_t size() const { return size_; }
  int Between(uint32_t a, uint32_t b) const { return points_[a * size_ + b]; }
  // Whether anything connects any two of them.
  bool IsKnown() const;

 private:
  size_t size_;
  std::vector<int> points_;  // a row for each device
};

// The `wanted` positions, those of `included` among them, that have the most points between each
// two; of several such sets the one that leaves the most points among the rest, so that what is
// close stays together for later; then the first in order of positions. Ascending. `included` has
// no more than `wanted` positions, and there are `wanted` at least.
// Exact while there are at most 60,000 sets to look at, as for every size out of 16 devices;
// beyond, a set that no exchange of one device improves.
std::vector<uint32_t> Closest(const Closeness& closeness, std::span<const uint32_t> included,
                              size_t wanted);

}  // namespace tessera
