// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/launch_queue.h"

namespace tessera::limiter {

void LaunchQueue::Stand(int number) {
  length_.fetch_add(1, std::memory_order_relaxed);
  const uint32_t place = next_.fetch_add(1, std::memory_order_relaxed);
  came_[place % kMost].store(static_cast<uint16_t>(number + 1), std::memory_order_release);
}

void LaunchQueue::TakeIn() {
  while (count_ < kMost) {
    std::atomic<uint16_t>& came = came_[taken_in_ % kMost];
    const uint16_t number = came.load(std::memory_order_acquire);
    if (number == 0) return;
    came.store(0, std::memory_order_relaxed);
    ++taken_in_;
    waiting_[count_++] = static_cast<uint16_t>(number - 1);
  }
}

}  // namespace tessera::limiter
