// SPDX-License-Identifier: Apache-2.0
// Finds the devices that are closest to each other by the scores of their links. Backends give
// NVLink more points than PCIe, and PCIe more than NUMA. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"

namespace tessera {

// The closeness of each pair of devices: the points of both ends' links. Parts of one device are
// closer than any two devices without links of their own kind.
class Closeness {
 public:
  explicit Closeness(std::span<const Device* const> devices);

  size_t size() const { return size_; }
  int Between(uint32_t a, uint32_t b) const { return points_[a * size_ + b]; }
  // True if any two of the devices have points.
  bool IsKnown() const;

 private:
  size_t size_;
  std::vector<int> points_;  // one row per device
};

// Chooses `wanted` positions, including `included`, with the most points among them; ascending.
// Ties go to the set that leaves the most points among the rest, so that close devices stay
// together for later. Then the first set by position wins.
//
// Requires: `included` has at most `wanted` positions, and at least `wanted` positions exist. The
// result is exact for up to 60,000 sets, which covers every size out of 16 devices. Beyond that, no
// exchange of one device improves it, and up to about 100 devices it is the best of one search from
// each.
std::vector<uint32_t> Closest(const Closeness& closeness, std::span<const uint32_t> included,
                              size_t wanted);

}  // namespace tessera
