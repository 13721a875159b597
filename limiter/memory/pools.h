// SPDX-License-Identifier: Apache-2.0
// Pools: what they hold of a device counts, not what is taken from them. The driver says how much
// that is; it is looked at after every call that may change it, and when there is no room for
// something else. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::limiter {

// Has the pools of a place give back what nothing is in. True: there is more room now.
bool TrimPools(int place);
// The pools of a place are looked at anew.
void SettlePools(int place);

// Pools that the program destroyed while something was in them, which are there until nothing is.
inline constinit std::atomic<uint32_t> pools_ending{0};
void EndPoolsOf(int place);
inline void EndPools(int place) {
  if (pools_ending.load(std::memory_order_relaxed) != 0) [[unlikely]]
    EndPoolsOf(place);
}

}  // namespace tessera::limiter
