// SPDX-License-Identifier: Apache-2.0
// How pools give back memory: they are trimmed for lack of room, destroyed by the program, or end
// with their context. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::limiter {

// Makes the pools of a place give back unused memory. True: there is more room now.
bool TrimPools(int place);
// Counts the pools of a place again after their context ended.
void SettlePools(int place);

// The number of pools that the program destroyed in use. They exist until their last allocation is
// freed.
inline constinit std::atomic<uint32_t> pools_ending{0};
void EndPoolsOf(int place);
inline void EndPools(int place) {
  if (pools_ending.load(std::memory_order_relaxed) != 0) [[unlikely]]
    EndPoolsOf(place);
}

}  // namespace tessera::limiter
