// SPDX-License-Identifier: Apache-2.0
// The offsets of one device's words in a region. Only for sources of this folder: no other reads
// the contract with the library.
#pragma once

#include <cstddef>

#include "limiter/contract.h"

namespace tessera {

constexpr size_t TimesAt(size_t place) {
  return offsetof(limiter::Region, accounting.times) + place * sizeof(limiter::TimeAccounting);
}
constexpr size_t CalibrationAt(size_t place) {
  return offsetof(limiter::Region, accounting.calibrations) +
         place * sizeof(limiter::CalibrationAccounting);
}

}  // namespace tessera
