// SPDX-License-Identifier: Apache-2.0
#include "limiter/view/memory.h"

#include <algorithm>

#include "limiter/accounting/accounting.h"

namespace tessera::limiter {

MemoryView ShareOf(const MemoryView& device, uint64_t limit, uint64_t used) {
  if (limit == 0) return device;
  const uint64_t total = std::min(device.total, limit);
  const uint64_t left = limit > used ? limit - used : 0;
  return {std::min({device.free, left, total}), total};
}

MemoryView ViewOf(int place, const MemoryView& device) {
  if (place < 0) return device;
  // The rest is managed memory, outside the card.
  constexpr MemoryView kWhatever{UINT64_MAX, UINT64_MAX};
  if (Limit(place) != 0 && Oversubscribes()) return ShareOf(kWhatever, Limit(place), Used(place));
  return ShareOf(device, Limit(place), Used(place));
}

}  // namespace tessera::limiter
