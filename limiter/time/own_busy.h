// SPDX-License-Identifier: Apache-2.0
// The time in which this process's measured work kept a device busy; simultaneous work counts once.
// A run may be reported later than runs that began after it, so the gaps between runs are kept. One
// thread at a time; valid when it is all zeros.
#pragma once

#include <cstdint>

namespace tessera::limiter {

class OwnBusy {
 public:
  // ns of an interval that no earlier one covered.
  uint64_t Newly(uint64_t start, uint64_t end);

 private:
  static constexpr int kGaps = 64;
  struct Gap {
    uint64_t start;
    uint64_t end;
  };
  void Note(const Gap& gap);
  uint64_t Fill(uint64_t start, uint64_t end);

  uint64_t end_;     // the latest end
  int count_;        // gaps,
  Gap gaps_[kGaps];  // in the order of time
};

}  // namespace tessera::limiter
