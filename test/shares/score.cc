// SPDX-License-Identifier: Apache-2.0
#include "shares/score.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::limiter {

double Mean(const Windows& windows) {
  return std::accumulate(windows.begin(), windows.end(), 0.0) / static_cast<double>(windows.size());
}

Score ScoreOf(const Windows& got, double limit, const Windows& without) {
  Score score{.target = std::min(limit, Mean(without)), .mean = Mean(got)};
  Windows distances;
  for (const double share : got) distances.push_back(std::abs(share - score.target));
  score.error = Mean(distances);
  score.off = (score.mean - score.target) / limit * 100;
  return score;
}

}  // namespace tessera::limiter
