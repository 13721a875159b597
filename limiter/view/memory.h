// SPDX-License-Identifier: Apache-2.0
// The memory of its device that a program sees. Any thread.
#pragma once

#include <cstdint>

namespace tessera::limiter {

struct MemoryView {
  uint64_t free;
  uint64_t total;
  bool operator==(const MemoryView&) const = default;
};

// A container's view of a device, with its limit (0: none) and the bytes that it holds. Never more
// than the device has, nor more free than in total.
MemoryView ShareOf(const MemoryView& device, uint64_t limit, uint64_t used);

// The view of the accounting's device at that place (memory/devices.h); -1 sees all of it. If
// memory may exceed the card, only the limit counts.
MemoryView ViewOf(int place, const MemoryView& device);

}  // namespace tessera::limiter
