// SPDX-License-Identifier: Apache-2.0
// The devices on which a graph's kernels run, whatever stream it is launched into. They are found
// when the graph is instantiated, and stay: the driver lets no kernel node of an executable graph
// change its context. Any thread; no lock is held when a call returns.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {

// A bit for each place of the accounting.
using PlaceBits = uint32_t;
// A device without a limit: no place of the accounting.
inline constexpr PlaceBits kNowhere = PlaceBits{1} << 31;

// A context of a device is about to be made.
void SayDevice(CUdevice device);
// True once there were contexts of several devices. Until then every graph runs on the one device.
inline constinit std::atomic<bool> has_several_devices{false};

// False: no memory to record it.
bool RememberPlaces(CUgraphExec exec, CUgraph graph);
// Call before the graph is destroyed, since its address may be used again. Returns the places where
// it may have run; 0: only where it was launched.
PlaceBits ForgetPlaces(CUgraphExec exec);

PlaceBits FindPlaces(CUgraphExec exec);
// 0: only where it is launched.
inline PlaceBits PlacesOf(CUgraphExec exec) {
  if (!has_several_devices.load(std::memory_order_relaxed)) [[likely]]
    return 0;
  return FindPlaces(exec);
}

}  // namespace tessera::limiter
