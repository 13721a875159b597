// SPDX-License-Identifier: Apache-2.0
// Where processes are to be killed. No two of them need go the same way: what the library measures
// it draws by lot, and it looks around where time has passed. So "every instruction" is each one
// that a process came to when it was followed, several times over, and it counts once a process was
// killed right there. Loops come to the same ones again and again, so that of 80,000 steps there
// are 3,000 instructions: each is aimed at when a process comes to it for the first time, the
// second, the fourth, and so on as far as it was seen to. One thread.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "test/limiter/kills/stepped.h"

namespace tessera::limiter {

struct Aim {
  Place place;
  int times;        // at which coming
  size_t path = 0;  // in which it was found, and at which step of it
  size_t step = 0;
  bool is_hit = false;

  bool is_first() const { return times == 1; }
};

// In the order in which processes came there.
class Aims {
 public:
  // False: it had nothing that is not aimed at already.
  bool Add(Path path);

  std::vector<Aim>& all() { return aims_; }
  const std::vector<Aim>& all() const { return aims_; }
  size_t places() const { return most_.size(); }
  size_t steps() const;  // of the longest path
  // Where the process that was followed was so many steps before, or at its first one.
  Aim Before(const Aim& aim, size_t steps) const;
  // Where nobody was killed.
  std::vector<Place> Missed() const;
  size_t Hits() const;

 private:
  std::vector<Aim> aims_;
  std::map<Place, int> most_;  // the latest coming that is aimed at
  std::vector<Path> paths_;
};

}  // namespace tessera::limiter
