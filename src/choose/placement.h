// SPDX-License-Identifier: Apache-2.0
// The order in which divided devices fill up. Plain data.
#pragma once

#include <cstdint>

namespace tessera {

enum class Placement : uint8_t {
  kSpread,  // the device with the fewest taken shares first: balances the load
  kPack,    // the device with the most taken shares first: whole devices stay free
};

}  // namespace tessera
