// SPDX-License-Identifier: Apache-2.0
// How well a container's share of a GPU's time fits its limit. Plain data.
#pragma once

#include <vector>

namespace tessera::limiter {

// A share of the GPU's time in each second, in percent.
using Windows = std::vector<double>;

// How near to its target a container came. The target is its limit, or the share of the same load
// without the library (`without`) if that is less.
struct Score {
  double target = 0;  // percent of the GPU's time, as are mean and error
  double mean = 0;    // the container's share
  double error = 0;   // the mean distance of a second from the target
  double off = 0;     // mean minus target, in percent of the limit
};
Score ScoreOf(const Windows& got, double limit, const Windows& without);

double Mean(const Windows& windows);

}  // namespace tessera::limiter
