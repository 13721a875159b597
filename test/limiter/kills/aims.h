// SPDX-License-Identifier: Apache-2.0
// The instructions at which processes are to be killed. Two processes rarely take the same path:
// the library samples launches at random, and looks for the dead where time has passed. So "every
// instruction" means each one that a followed process reached, over several runs. An instruction
// counts once a process was killed there.
//
// Loops reach the same instructions again: a path of 80,000 steps may have 3,000. Each is aimed at
// on its first visit, its second, its fourth, and so on, up to the last one seen. One thread.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "test/limiter/kills/stepped.h"

namespace tessera::limiter {

struct Aim {
  Place place;
  int times;        // the visit at which to kill, from 1
  size_t path = 0;  // the path that it was found in, and its step there
  size_t step = 0;
  bool is_hit = false;

  bool is_first() const { return times == 1; }
};

// In the order in which the followed processes reached them.
class Aims {
 public:
  // False: the path reached no new instruction.
  bool Add(Path path);

  std::vector<Aim>& all() { return aims_; }
  const std::vector<Aim>& all() const { return aims_; }
  size_t places() const { return most_.size(); }
  size_t steps() const;  // of the longest path
  // The place that many steps before the aim in its path, or the path's first one.
  Aim Before(const Aim& aim, size_t steps) const;
  // Instructions at which no process was killed.
  std::vector<Place> Missed() const;
  size_t Hits() const;

 private:
  std::vector<Aim> aims_;
  std::map<Place, int> most_;  // the latest visit that is aimed at
  std::vector<Path> paths_;
};

}  // namespace tessera::limiter
