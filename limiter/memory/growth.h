// SPDX-License-Identifier: Apache-2.0
// Memory that the driver takes and gives back in its own time, and tells how much it holds: what it
// holds is counted, whenever it may have changed. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/accounting/accounting.h"

namespace tessera::limiter {

// Counts what is held now, as held() tells; `charged` is what was counted of it before, and
// `credit` bytes of the place are reserved already, and are used or given back. False: it holds
// more than may be, which is counted all the same.
template <typename Held>
bool SettleGrowth(std::atomic<uint64_t>* charged, int place, uint64_t credit, Held held) {
  bool within = true;
  for (;;) {
    uint64_t before = charged->load(std::memory_order_acquire);
    const uint64_t now = held();
    const uint64_t more = now > before ? now - before : 0;
    const uint64_t extra = more > credit ? more - credit : 0;
    if (extra != 0 && !TryReserve(place, extra, Kind::kData)) {
      within = false;
      Count(place, extra, Kind::kData);
    }
    // Somebody else counted meanwhile: what the driver said may be of before that.
    if (charged->compare_exchange_strong(before, now, std::memory_order_acq_rel)) {
      const uint64_t less = before > now ? before - now : 0;
      const uint64_t unused = credit > more ? credit - more : 0;
      if (less + unused != 0) Release(place, less + unused, Kind::kData);
      return within;
    }
    if (extra != 0) Release(place, extra, Kind::kData);
  }
}

}  // namespace tessera::limiter
