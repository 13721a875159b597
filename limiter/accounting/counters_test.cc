// SPDX-License-Identifier: Apache-2.0
#include "limiter/accounting/counters.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace tessera::limiter {
namespace {

class CountersTest : public testing::Test {
 protected:
  MoveResult Add(uint32_t slot, int64_t units, uint64_t limit = kMaxUnits) {
    return Move(accounting_.get(), 0, slot, units, limit);
  }
  uint64_t Share(uint32_t slot) { return ShareOf(accounting_.get(), 0, slot); }
  uint64_t Total() { return TotalOf(*accounting_, 0); }

  std::unique_ptr<Accounting> accounting_ = std::make_unique<Accounting>();
};

TEST_F(CountersTest, WhatIsAddedIsInTheTotalAndInTheShare) {
  EXPECT_EQ(Add(3, 100), MoveResult::kDone);
  EXPECT_EQ(Add(1023, 50), MoveResult::kDone);
  EXPECT_EQ(Add(3, -40), MoveResult::kDone);
  EXPECT_EQ(Total(), 110u);
  EXPECT_EQ(Share(3), 60u);
  EXPECT_EQ(Share(1023), 50u);
}

TEST_F(CountersTest, TheLimitIsReachedAndNotPassed) {
  EXPECT_EQ(Add(0, 60, 100), MoveResult::kDone);
  EXPECT_EQ(Add(1, 41, 100), MoveResult::kPastLimit);
  EXPECT_EQ(Add(1, 40, 100), MoveResult::kDone);
  EXPECT_EQ(Add(1, 101, 100), MoveResult::kPastLimit);
  EXPECT_EQ(Total(), 100u);
}

TEST_F(CountersTest, NobodyGivesBackMoreThanItHas) {
  Add(0, 10);
  Add(1, 10);
  EXPECT_EQ(Add(1, -11), MoveResult::kDone);
  EXPECT_EQ(Total(), 10u);
  EXPECT_EQ(Share(0), 10u);
  EXPECT_EQ(Share(1), 0u);
}

TEST_F(CountersTest, TheLargestAmountIsKnownExactly) {
  EXPECT_EQ(Add(0, static_cast<int64_t>(kMaxUnits)), MoveResult::kDone);
  EXPECT_EQ(Add(0, 1), MoveResult::kPastLimit);
  EXPECT_EQ(Share(0), kMaxUnits);
  EXPECT_EQ(Add(0, -static_cast<int64_t>(kMaxUnits)), MoveResult::kDone);
  EXPECT_EQ(Total(), 0u);
}

TEST_F(CountersTest, SequencesBeginAgainAtTheirEnd) {
  // The share after 2^28 - 2 operations, and a total that records the last of them.
  accounting_->slots[0].share[0] = uint64_t{(1u << 28) - 2} << 36;
  accounting_->devices[0].total.low = uint64_t{(1u << 28) - 2} << 36;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Add(0, 1), MoveResult::kDone);
  EXPECT_EQ(Total(), 5u);
  EXPECT_EQ(Share(0), 5u);
}

TEST_F(CountersTest, WhoComesNextCompletesWhatWasBegun) {
  Add(7, 5);
  const ShareWord before = accounting_->slots[7].share[0];
  Add(7, 20);
  accounting_->slots[7].share[0] = before;  // as if killed between the two words
  Add(2, 1);
  EXPECT_EQ(Share(7), 25u);
  EXPECT_EQ(Total(), 26u);
}

TEST_F(CountersTest, WordsThatAreNoAccountingEndTheCallAllTheSame) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    accounting_->devices[0].total = {random(), random()};
    for (int slot = 0; slot < 4; ++slot) accounting_->slots[slot].share[0] = random();
    Add(static_cast<uint32_t>(i % 4), i % 2 == 0 ? 5 : -5);
  }
}

TEST_F(CountersTest, ThreadsOfManySlotsAddUpExactlyAndNeverPassTheLimit) {
  constexpr uint64_t kLimit = 1000;
  std::atomic<bool> past{false};
  std::vector<int64_t> held(8);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(i);
      const uint32_t slot = i / 2;  // two threads a slot
      for (int round = 0; round < 50'000; ++round) {
        const int64_t units = static_cast<int64_t>(random() % 200);
        if (held[i] > 0 && random() % 2 == 0) {
          Add(slot, -held[i]);
          held[i] = 0;
        } else if (Add(slot, units, kLimit) == MoveResult::kDone) {
          held[i] += units;
        }
        if (Total() > kLimit) past = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(past);
  int64_t sum = 0;
  for (uint32_t slot = 0; slot < 4; ++slot) {
    EXPECT_EQ(Share(slot), static_cast<uint64_t>(held[2 * slot] + held[2 * slot + 1]));
    sum += held[2 * slot] + held[2 * slot + 1];
  }
  EXPECT_EQ(Total(), static_cast<uint64_t>(sum));
}

}  // namespace
}  // namespace tessera::limiter
