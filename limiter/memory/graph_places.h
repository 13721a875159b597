// SPDX-License-Identifier: Apache-2.0
// On which devices the kernels of a graph run, whatever stream it is launched into. That is found
// when it is instantiated, and stays: the driver lets no kernel node of an executable graph have
// another context. Any thread; no lock is held when a call returns.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {

// A bit for each place of the accounting.
using PlaceBits = uint32_t;
// It is of a device that is not limited: of none of the accounting' places.
inline constexpr PlaceBits kNowhere = PlaceBits{1} << 31;

// A context of a device is about to be made.
void SayDevice(CUdevice device);
// There were contexts of more than one: of a single one all graphs are, and none is looked at.
inline constinit std::atomic<bool> has_several_devices{false};

// False: there is no memory to remember it.
bool RememberPlaces(CUgraphExec exec, CUgraph graph);
// Its address may come again. Where it may have run; 0: only where it was launched.
PlaceBits ForgetPlaces(CUgraphExec exec);

PlaceBits FindPlaces(CUgraphExec exec);
// 0: where it is launched.
inline PlaceBits PlacesOf(CUgraphExec exec) {
  if (!has_several_devices.load(std::memory_order_relaxed)) [[likely]]
    return 0;
  return FindPlaces(exec);
}

}  // namespace tessera::limiter
