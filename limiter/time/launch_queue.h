// SPDX-License-Identifier: Apache-2.0
// Measures in flight, in the order of their launches, by number. Any thread stands one in line,
// without a lock; all else is of who is alone with it. Good when it is all zeros.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::limiter {

class LaunchQueue {
 public:
  static constexpr int kMost = 256;

  // Each at most once, so that there is room. Below kMost.
  void Stand(int number);
  bool is_empty() const { return length_.load(std::memory_order_relaxed) == 0; }

  // Goes through them, the first one first; those of which keep(number) says false leave.
  template <typename Keep>
  void Visit(Keep keep) {
    TakeIn();
    int kept = 0;
    for (int i = 0; i < count_; ++i) {
      if (keep(waiting_[i])) waiting_[kept++] = waiting_[i];
    }
    length_.fetch_sub(count_ - kept, std::memory_order_relaxed);
    count_ = kept;
  }

 private:
  void TakeIn();

  std::atomic<int> length_;
  // Those that came, and who is alone did not look at yet: a number and 1; 0: it is being written.
  std::atomic<uint16_t> came_[kMost];
  std::atomic<uint32_t> next_;
  uint32_t taken_in_;
  uint16_t waiting_[kMost];
  int count_;
};

}  // namespace tessera::limiter
