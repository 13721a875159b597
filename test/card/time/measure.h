// SPDX-License-Identifier: Apache-2.0
// What share of the card's time containers get, by kernels that were done and the time that passed.
#pragma once

#include <string>
#include <vector>

#include "card/time/busy.h"
#include "card/time/cells.h"

namespace tessera::card {

// What is the same for all cells.
struct Measured {
  std::string library;    // libvgpu.so
  std::string directory;  // for regions
  std::string uuid;
  double rounds_per_ns = 1;
};

// Of each container, in their order; or nothing, where a row says what went wrong.
std::vector<limiter::Windows> MeasureOnCard(const Cell& cell, const Measured& measured);

// How long a cell takes, beside the making of contexts.
constexpr double kCellSeconds = 2.0;

}  // namespace tessera::card
