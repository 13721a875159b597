// SPDX-License-Identifier: Apache-2.0
// Memory that the driver takes and gives back by itself, and whose amount it reports. The reported
// amount is counted after every call that may change it. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/accounting/accounting.h"

namespace tessera::limiter {

// Counts what held() reports. `charged`: the amount counted before. `credit`: bytes of the place
// that are reserved already; used or released here. False: past the limit; it is counted all the
// same.
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
    // The exchange fails if another thread counted in between: held() may then be older, so ask
    // again.
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
