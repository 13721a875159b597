// SPDX-License-Identifier: Apache-2.0
// How much memory a program is told that its device has.
#pragma once

#include <cstdint>

namespace tessera::limiter {

struct MemoryView {
  uint64_t free;
  uint64_t total;
  bool operator==(const MemoryView&) const = default;
};

// What a container with that limit (0: none), which holds so many bytes, has of a device. Never
// more than the device has, nor more free than in all.
MemoryView ShareOf(const MemoryView& device, uint64_t limit, uint64_t used);

// The same of the accounting' device at that place (memory/devices.h); -1 has all of it. Where
// memory may be beyond the card, the limit alone counts.
MemoryView ViewOf(int place, const MemoryView& device);

}  // namespace tessera::limiter
