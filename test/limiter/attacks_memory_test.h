// SPDX-License-Identifier: Apache-2.0
// For tests of attacks: ways in which a program could hold more of a GPU's memory than its limit.
// They use calls of the driver and of the kernel alone.
#pragma once

#include <atomic>
#include <thread>

#include "limiter/memory_test.h"

namespace tessera::limiter {

class AttacksMemoryTest : public MemoryTest {
 protected:
  // Runs `round` again and again, while another thread runs `meanwhile` all the time.
  template <typename Meanwhile, typename Round>
  void Race(int rounds, Meanwhile meanwhile, Round round) {
    std::atomic<bool> over{false};
    std::thread other([&] {
      while (!over) meanwhile();
    });
    for (int i = 0; i < rounds && !HasFailure(); ++i) round();
    over = true;
    other.join();
  }
  void ExpectCounted() { EXPECT_EQ(Used(0) / kMiB, Resident() / kMiB); }
};

}  // namespace tessera::limiter
