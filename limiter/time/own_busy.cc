// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/own_busy.h"

#include <string.h>

namespace tessera::limiter {

uint64_t OwnBusy::Newly(uint64_t start, uint64_t end) {
  if (end <= start) return 0;
  const uint64_t before = end_;
  uint64_t newly = start < before ? Fill(start, end < before ? end : before) : 0;
  if (end <= before) return newly;
  if (start > before) Note({before, start});
  newly += end - (start > before ? start : before);
  end_ = end;
  return newly;
}

// If there are too many gaps, the first two merge. The time between them may then count twice, but
// no gap is lost.
void OwnBusy::Note(const Gap& gap) {
  if (count_ == kGaps) {
    gaps_[1].start = gaps_[0].start;
    memmove(gaps_, gaps_ + 1, sizeof(Gap) * (kGaps - 1));
    --count_;
  }
  gaps_[count_++] = gap;
}

// The rest of each gap stays. If its middle is filled, only the larger rest does.
uint64_t OwnBusy::Fill(uint64_t start, uint64_t end) {
  uint64_t filled = 0;
  int kept = 0;
  for (int i = 0; i < count_; ++i) {
    Gap gap = gaps_[i];
    const uint64_t from = start > gap.start ? start : gap.start;
    const uint64_t to = end < gap.end ? end : gap.end;
    if (from < to) {
      filled += to - from;
      if (from - gap.start < gap.end - to) {
        gap.start = to;
      } else {
        gap.end = from;
      }
    }
    if (gap.start < gap.end) gaps_[kept++] = gap;
  }
  count_ = kept;
  return filled;
}

}  // namespace tessera::limiter
