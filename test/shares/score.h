// SPDX-License-Identifier: Apache-2.0
// What a share of a GPU's time is worth, by what a container got of it. Plain data.
#pragma once

#include <vector>

namespace tessera::limiter {

// Percent of the GPU's time, of each second.
using Windows = std::vector<double>;

// How near to its limit a container came. What it was to get is the limit, or what the same load
// takes without the library, where that is less.
struct Score {
  double target = 0;  // percent of the GPU's time, as are
  double mean = 0;    // what it got
  double error = 0;   // and the mean distance of a second from the target
  double off = 0;     // of the mean from the target, in percent of the limit
};
Score ScoreOf(const Windows& got, double limit, const Windows& without);

double Mean(const Windows& windows);

}  // namespace tessera::limiter
