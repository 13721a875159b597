// SPDX-License-Identifier: Apache-2.0
#include "test/limiter/kills/aims.h"

#include <algorithm>
#include <utility>

namespace tessera::limiter {

bool Aims::Add(Path path) {
  std::map<Place, int> times;
  bool is_new = false;
  for (size_t step = 0; step < path.size(); ++step) {
    const Place& place = path[step];
    const int time = ++times[place];
    int& most = most_[place];
    if (time != (most == 0 ? 1 : 2 * most)) continue;
    is_new |= most == 0;
    most = time;
    aims_.push_back({place, time, paths_.size(), step});
  }
  paths_.push_back(std::move(path));
  return is_new;
}

size_t Aims::steps() const {
  size_t most = 0;
  for (const Path& path : paths_) most = std::max(most, path.size());
  return most;
}

Aim Aims::Before(const Aim& aim, size_t steps) const {
  const Path& path = paths_[aim.path];
  const size_t step = aim.step - std::min(aim.step, steps);
  const auto end = path.begin() + static_cast<std::ptrdiff_t>(step) + 1;
  const auto times = std::count(path.begin(), end, path[step]);
  return {path[step], static_cast<int>(times), aim.path, step};
}

std::vector<Place> Aims::Missed() const {
  std::vector<Place> missed;
  for (const Aim& aim : aims_) {
    if (aim.is_first() && !aim.is_hit) missed.push_back(aim.place);
  }
  return missed;
}

size_t Aims::Hits() const {
  return static_cast<size_t>(std::ranges::count_if(aims_, &Aim::is_hit));
}

}  // namespace tessera::limiter
