// SPDX-License-Identifier: Apache-2.0
// Holds back repeats of a log line: the first three of ten seconds pass, unless other limits are
// given, and when those are over the number of those dropped is told. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"

namespace tessera::log {

class Repeats {
 public:
  static constexpr int kPassed = 3;
  static constexpr Duration kSpan{10'000};
  // Beyond so many different lines in one span further ones pass unwatched.
  static constexpr size_t kWatched = 1024;

  struct Limits {
    int passed = kPassed;
    Duration span = kSpan;
  };
  explicit Repeats(const Limits& limits) : limits_(limits) {}
  Repeats() : Repeats(Limits()) {}

  struct Dropped {
    int level = 0;
    std::string line;
    int count = 0;
  };

  // Lines whose span is over and of which some were dropped, oldest first.
  std::vector<Dropped> Ended(Steady now);
  // Whether this line may pass; to be asked after Ended.
  bool Passes(int level, const std::string& line, Steady now);
  // Lines that are watched.
  size_t size() const { return seen_.size(); }

 private:
  struct Seen {
    int level = 0;
    Steady begin;
    int count = 0;
  };
  Limits limits_;
  std::unordered_map<std::string, Seen> seen_;
  Steady next_end_ = Steady::max();
};

}  // namespace tessera::log
