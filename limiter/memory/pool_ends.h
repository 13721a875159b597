// SPDX-License-Identifier: Apache-2.0
// How pools give back what they hold: they are trimmed where there is no room for something else,
// the program destroys them, or a context takes it along. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::limiter {

// Has the pools of a place give back what nothing is in. True: there is more room now.
bool TrimPools(int place);
// The pools of a place are looked at anew, whose context went.
void SettlePools(int place);

// Pools that the program destroyed while something was in them, which are there until nothing is.
inline constinit std::atomic<uint32_t> pools_ending{0};
void EndPoolsOf(int place);
inline void EndPools(int place) {
  if (pools_ending.load(std::memory_order_relaxed) != 0) [[unlikely]]
    EndPoolsOf(place);
}

}  // namespace tessera::limiter
