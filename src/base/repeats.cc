// SPDX-License-Identifier: Apache-2.0
#include "base/repeats.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tessera::log {

std::vector<Repeats::Dropped> Repeats::Ended(Steady now) {
  if (now < next_end_) return {};
  std::vector<std::pair<Steady, Dropped>> ended;
  next_end_ = Steady::max();
  for (auto it = seen_.begin(); it != seen_.end();) {
    const Seen& seen = it->second;
    if (now < seen.begin + limits_.span) {
      next_end_ = std::min(next_end_, seen.begin + limits_.span);
      ++it;
      continue;
    }
    if (seen.count > limits_.passed) {
      ended.push_back({seen.begin, Dropped{seen.level, it->first, seen.count - limits_.passed}});
    }
    it = seen_.erase(it);
  }
  std::sort(ended.begin(), ended.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.line) < std::tie(b.first, b.second.line);
  });
  std::vector<Dropped> result;
  result.reserve(ended.size());
  for (auto& [begin, dropped] : ended) result.push_back(std::move(dropped));
  return result;
}

bool Repeats::Passes(int level, const std::string& line, Steady now) {
  auto it = seen_.find(line);
  if (it == seen_.end()) {
    if (seen_.size() >= kWatched) return true;
    it = seen_.emplace(line, Seen{level, now, 0}).first;
    next_end_ = std::min(next_end_, now + limits_.span);
  }
  return ++it->second.count <= limits_.passed;
}

}  // namespace tessera::log
