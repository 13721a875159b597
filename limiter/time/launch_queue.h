// SPDX-License-Identifier: Apache-2.0
// The numbers of samples in flight, in the order of their launches. Any thread adds one, without a
// lock. All else is for the thread that holds Samples' turn. Valid when it is all zeros.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::limiter {

class LaunchQueue {
 public:
  static constexpr int kMost = 256;

  // Adds a number below kMost. Each number is in the queue at most once, so there is always room.
  void Stand(int number);
  bool is_empty() const { return length_.load(std::memory_order_relaxed) == 0; }

  // Visits the numbers in order; a number leaves if keep(number) returns false.
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
  // Added numbers that Visit() has not taken in: the number plus 1; 0: still being written.
  std::atomic<uint16_t> came_[kMost];
  std::atomic<uint32_t> next_;
  uint32_t taken_in_;
  uint16_t waiting_[kMost];
  int count_;
};

}  // namespace tessera::limiter
