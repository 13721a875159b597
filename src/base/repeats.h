// SPDX-License-Identifier: Apache-2.0
// Limits repeats of a log line: by default three pass in ten seconds. At the end of the span the
// number of dropped lines is reported. One thread.
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
  // Different lines watched in one span. Further ones pass unwatched.
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

  // Lines with dropped repeats whose span has ended, oldest first.
  std::vector<Dropped> Ended(Steady now);
  // Whether this line may pass. Call Ended first.
  bool Passes(int level, const std::string& line, Steady now);
  // The number of watched lines.
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
