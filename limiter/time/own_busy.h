// SPDX-License-Identifier: Apache-2.0
// When a device was busy with what this process launched, as far as it was measured: what ran at
// the same time counts once. A run that is known of later than others may have begun before them,
// so the gaps between those are kept. Good when it is all zeros; one thread at a time.
#pragma once

#include <cstdint>

namespace tessera::limiter {

class OwnBusy {
 public:
  // ns of an interval that no other one had.
  uint64_t Newly(uint64_t start, uint64_t end);

 private:
  static constexpr int kGaps = 64;
  struct Gap {
    uint64_t start;
    uint64_t end;
  };
  void Note(const Gap& gap);
  uint64_t Fill(uint64_t start, uint64_t end);

  uint64_t end_;     // of all
  int count_;        // of gaps,
  Gap gaps_[kGaps];  // as they follow each other
};

}  // namespace tessera::limiter
