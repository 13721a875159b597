// SPDX-License-Identifier: Apache-2.0
// Where in a region the words of one of its devices are. For sources of this folder: nobody else
// reads the contract with the library.
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
