// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/in_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "limiter/time/bucket.h"
#include "limiter/time/times_under_test.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kNow = 1'000'000 * kMs;

class ChargeEndTest : public testing::Test {
 protected:
  ChargeEndTest() {
    region_->hami.sm_limit[0] = 50;
    region_->accounting.times[0].bucket = {0, kNow - 1'000 * kMs};
  }
  TimeAccounting& accounting() { return region_->accounting.times[0]; }
  InFlight& InFlightOf(uint32_t slot) { return region_->accounting.in_flight[slot][0]; }
  // ns that are charged for the end of a process with this flight.
  int64_t Charged(const InFlight& in_flight, uint32_t slot = 7) {
    accounting().bucket = {0, kNow};
    InFlightOf(slot) = in_flight;
    ChargeEnd(region_.get(), slot, 0, kNow, 0);
    EXPECT_EQ(InFlightOf(slot).since, 0u);
    EXPECT_EQ(InFlightOf(slot).taken, 0);
    return -LeftIn(accounting().bucket);
  }

  std::unique_ptr<Region> region_ = std::make_unique<Region>();
};

TEST_F(ChargeEndTest, WhoHasNothingInFlightIsChargedNothing) {
  EXPECT_EQ(Charged({0, 5 * kMs}), 0);
  EXPECT_EQ(accounting().busy_end, 0u);
}

TEST_F(ChargeEndTest, WhatItKeptTheDeviceBusyIsChargedLessWhatWasTaken) {
  EXPECT_EQ(Charged({kNow - 100 * kMs, 15 * kMs}), static_cast<int64_t>(85 * kMs));
  EXPECT_EQ(accounting().busy_end, kNow);
  EXPECT_EQ(accounting().used, 85 * kMs);
}

TEST_F(ChargeEndTest, WhatWasMeasuredByThenIsNotChargedAgain) {
  accounting().busy_end = kNow - 20 * kMs;
  EXPECT_EQ(Charged({kNow - 100 * kMs, 15 * kMs}), static_cast<int64_t>(5 * kMs));
  EXPECT_EQ(Charged({kNow - 100 * kMs, 15 * kMs}), -static_cast<int64_t>(15 * kMs))
      << "others kept it busy, and pay for it";
}

TEST_F(ChargeEndTest, WhatBeganFirstIsChargedFromItsBeginningThoughItsEndIsSeenLast) {
  region_->accounting.slots_used = 8;
  accounting().bucket = {0, kNow};
  InFlightOf(2) = {kNow - 100 * kMs, 0};
  InFlightOf(1) = {kNow - 2 * kMs, 0};
  ChargeEnd(region_.get(), 1, 0, kNow, 0);
  ChargeEnd(region_.get(), 2, 0, kNow, 0);
  EXPECT_EQ(LeftIn(accounting().bucket), -static_cast<int64_t>(102 * kMs));
  EXPECT_EQ(accounting().busy_end, kNow);
}

TEST_F(ChargeEndTest, AnEndThatIsSeenLateIsNotChargedForAllThatTime) {
  EXPECT_EQ(Charged({kNow - 100'000 * kMs, 0}), kMostAtEnd);
  EXPECT_EQ(Charged({kNow - 1, static_cast<int64_t>(7'000 * kMs)}),
            -static_cast<int64_t>(7'000 * kMs));
}

TEST_F(ChargeEndTest, ItCountsAsTakenWhenItBegan) {
  InFlightOf(3) = {kNow - 100 * kMs, 0};
  ChargeEnd(region_.get(), 3, 0, kNow, 0);
  EXPECT_EQ(LeftIn(accounting().bucket), kBurst - static_cast<int64_t>(100 * kMs));
  EXPECT_EQ(accounting().bucket.high, kNow - 100 * kMs);
}

TEST_F(ChargeEndTest, AContainerThatStartsAnewIsNotChargedForTheOneBefore) {
  InFlightOf(7) = {kNow - 300 * kMs, 15 * kMs};
  ChargeEnd(region_.get(), 7, 0, kNow, kNow - 100 * kMs);
  EXPECT_EQ(accounting().used, 0u);
  EXPECT_EQ(InFlightOf(7).since, 0u);
  EXPECT_EQ(InFlightOf(7).taken, 0);
}

TEST_F(ChargeEndTest, WordsThatNobodyWroteCostNothing) {
  EXPECT_EQ(Charged({kNow + kMs, 0}), 0) << "of another boot";
  EXPECT_EQ(Charged({kNow - kMs, -5}), static_cast<int64_t>(kMs));
  accounting().busy_end = 0;
  EXPECT_EQ(Charged({kNow - 1, INT64_MAX}), 1);
}

TEST_F(ChargeEndTest, ItIsChargedOnceThoughWhoChargedItWasKilledOverIt) {
  const InFlight in_flight{kNow - 30 * kMs, 0};
  ASSERT_EQ(Charged(in_flight), static_cast<int64_t>(30 * kMs));
  const TotalWord charged = accounting().bucket;
  InFlightOf(7) = in_flight;  // as if killed right behind
  ChargeEnd(region_.get(), 7, 0, kNow + kMs, 0);
  EXPECT_EQ(accounting().bucket.low, charged.low);
  InFlightOf(7) = in_flight;
  InFlightOf(8) = {kNow, 0};
  ChargeEnd(region_.get(), 8, 0, kNow, 0);
  EXPECT_EQ(InFlightOf(7).since, 0u) << "whose end is charged next comes after it";
}

class OwnFlightTest : public testing::Test {
 protected:
  static constexpr StreamId kOne = 100, kOther = 200;

  bool IsInFlight() const { return shown_.since != 0; }
  void Launch(StreamId stream) {
    if (!own_.IsNoted(stream)) own_.NoteUnmeasured(stream, &shown_);
  }
  OwnInFlight::Point Measurement(int64_t taken) {
    own_.AddTaken(taken, &shown_);
    return own_.NoteMeasured(&shown_);
  }

  OwnInFlight own_{};
  InFlight shown_{};
};

TEST_F(OwnFlightTest, WhatIsMeasuredIsInFlightUntilItIsRead) {
  const auto first = Measurement(5);
  const uint64_t since = shown_.since;
  EXPECT_NE(since, 0u);
  const auto second = Measurement(7);
  EXPECT_EQ(shown_.taken, 12);
  own_.Read(kOne, first, &shown_);
  EXPECT_EQ(shown_.taken, 7);
  EXPECT_EQ(shown_.since, since);
  own_.Read(kOne, second, &shown_);
  EXPECT_EQ(shown_.taken, 0);
  EXPECT_FALSE(IsInFlight());
}

TEST_F(OwnFlightTest, WhatIsNotMeasuredIsDoneWhenOneBehindItIs) {
  Launch(kOne);
  EXPECT_TRUE(IsInFlight());
  EXPECT_TRUE(own_.IsNoted(kOne));
  const auto behind = Measurement(5);
  own_.Read(kOne, behind, &shown_);
  EXPECT_FALSE(IsInFlight());
  const auto before = Measurement(5);
  EXPECT_FALSE(own_.IsNoted(kOne));
  Launch(kOne);
  own_.Read(kOne, before, &shown_);
  EXPECT_TRUE(IsInFlight());
}

TEST_F(OwnFlightTest, AnotherStreamTellsNothingOfIt) {
  Launch(kOne);
  own_.Read(kOther, Measurement(5), &shown_);
  EXPECT_TRUE(IsInFlight());
  own_.EndWait(kOther, own_.BeginWait(), &shown_);
  EXPECT_TRUE(IsInFlight());
  own_.EndWait(kOne, own_.BeginWait(), &shown_);
  EXPECT_FALSE(IsInFlight());
}

TEST_F(OwnFlightTest, OfSeveralStreamsOnlyAWaitForAllTells) {
  Launch(kOne);
  Launch(kOther);
  EXPECT_TRUE(own_.IsNoted(kOne));
  EXPECT_TRUE(own_.IsNoted(kOther));
  for (const StreamId stream : {kOne, kOther}) own_.EndWait(stream, own_.BeginWait(), &shown_);
  EXPECT_TRUE(IsInFlight());
  own_.EndWait(kAllStreams, own_.BeginWait(), &shown_);
  EXPECT_FALSE(IsInFlight());
}

TEST_F(OwnFlightTest, WhatIsLaunchedDuringAWaitIsInFlightBehindIt) {
  Launch(kOne);
  const auto began = own_.BeginWait();
  own_.AddTaken(3, &shown_);
  Launch(kOne);
  own_.EndWait(kAllStreams, began, &shown_);
  EXPECT_TRUE(IsInFlight());
  EXPECT_EQ(shown_.taken, 3);
  own_.EndWait(kAllStreams, own_.BeginWait(), &shown_);
  EXPECT_FALSE(IsInFlight());
  EXPECT_EQ(shown_.taken, 0);
}

TEST_F(OwnFlightTest, NoLaunchIsLostBetweenThreads) {
  std::atomic<bool> done{false};
  std::thread waits([&] {
    while (!done) own_.EndWait(kAllStreams, own_.BeginWait(), &shown_);
  });
  for (int i = 0; i < 20'000; ++i) {
    const auto launched = Measurement(1);
    // A launch that found no flight before and sees one now notes it again.
    while (__atomic_load_n(&shown_.since, __ATOMIC_SEQ_CST) == 0) std::this_thread::yield();
    own_.Read(kOne, launched, &shown_);
  }
  done = true;
  waits.join();
  EXPECT_EQ(shown_.taken, 0);
}

}  // namespace
}  // namespace tessera::limiter
