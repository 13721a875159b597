// SPDX-License-Identifier: Apache-2.0
// Where shares of divided devices go. Plain data.
#pragma once

#include <cstdint>

namespace tessera {

enum class Placement : uint8_t {
  kSpread,  // the device with the fewest shares taken first: the load is balanced
  kPack,    // the device with the most shares taken first: whole devices stay free
};

}  // namespace tessera
