// SPDX-License-Identifier: Apache-2.0
#include "fraction/calibrations.h"

#include <gtest/gtest.h>

#include "fraction/region_test.h"

namespace tessera {
namespace {

using limiter::CalibrationAccounting;
using limiter::InFlight;

constexpr Duration kIdle = Calibrations::kIdle;
constexpr Duration kBusy = Calibrations::kBusy;

// Containers a, b and c on one GPU, which is c's second one.
class CalibrationsTest : public RegionTest {
 protected:
  struct Container {
    FollowedRegion file;
    CalibrationAccounting* accounting;
    InFlight* flight;
  };
  CalibrationsTest() {
    for (const char* grant : {"a", "b", "c"}) {
      Region& region = Make(grant);
      const size_t place = *grant == 'c' ? 1 : 0;
      region.accounting.slots_used = 2;
      containers_.emplace(grant, Container{FollowedRegion::Open(directory_, FileOf(grant)),
                                           &region.accounting.calibrations[place],
                                           &region.accounting.in_flight[1][place]});
      gpus_["GPU-1"].push_back({grant, &containers_.at(grant).file, place});
    }
  }
  CalibrationAccounting& Accounting(const char* grant) { return *containers_.at(grant).accounting; }
  void Ask(const char* grant, uint64_t takes_ms) {
    Accounting(grant).wanted_at = now_ms_ * kMs;
    Accounting(grant).wanted_ns = takes_ms * kMs;
  }
  Duration Step(uint64_t later_ms = 0) {
    now_ms_ += later_ms;
    return calibrations_.Step(now_ms_ * kMs, gpus_);
  }
  uint64_t HeldUntil(const char* grant) { return Accounting(grant).held_until / kMs; }
  // Runs until the asking container reports the end.
  void Calibrate(const char* grant) {
    ASSERT_EQ(Step(5), kBusy);
    ASSERT_EQ(Accounting(grant).alone_from, now_ms_ * kMs);
    now_ms_ += 50;
    Accounting(grant).done_at = now_ms_ * kMs;
    ASSERT_EQ(Step(), kIdle);
  }

  std::map<std::string, Container> containers_;
  Calibrations::Gpus gpus_;
  Calibrations calibrations_;
  uint64_t now_ms_ = 1'000'000;
};

TEST_F(CalibrationsTest, NobodyIsHeldWhereNobodyAsks) {
  EXPECT_EQ(Step(), kIdle);
  for (const char* grant : {"a", "b", "c"}) EXPECT_EQ(Accounting(grant).held_until, 0u);
}

TEST_F(CalibrationsTest, AllAreHeldUntilNothingRunsAndThenWhoAskedIsAlone) {
  Ask("b", 100);
  containers_.at("a").flight->since = 1;
  containers_.at("c").flight->since = 1;
  EXPECT_EQ(Step(), kBusy);
  for (const char* grant : {"a", "b", "c"}) {
    EXPECT_EQ(Accounting(grant).held_from, now_ms_ * kMs) << grant;
    EXPECT_EQ(HeldUntil(grant), now_ms_ + 140) << grant;
  }
  containers_.at("a").flight->since = 0;
  EXPECT_EQ(Step(40), kBusy);
  EXPECT_EQ(Accounting("b").alone_from, 0u) << "c is not done";
  containers_.at("c").flight->since = 0;
  EXPECT_EQ(Step(10), kBusy);
  EXPECT_EQ(Accounting("b").alone_from, now_ms_ * kMs);
  EXPECT_EQ(Accounting("b").alone_until, (now_ms_ + 120) * kMs);
  EXPECT_EQ(HeldUntil("a"), now_ms_ + 120);
  EXPECT_EQ(Accounting("a").alone_from, 0u);
}

TEST_F(CalibrationsTest, OnceItIsMeasuredAllGoOn) {
  Ask("a", 100);
  const uint64_t began_ms = now_ms_;
  EXPECT_EQ(Step(), kBusy);
  EXPECT_EQ(Step(10), kBusy);
  EXPECT_EQ(Step(5), kBusy);
  Accounting("a").done_at = now_ms_ * kMs;
  EXPECT_EQ(Step(5), kIdle);
  EXPECT_EQ(Accounting("a").alone_until, now_ms_ * kMs);
  EXPECT_EQ(Accounting("b").held_from, began_ms * kMs);
  EXPECT_EQ(HeldUntil("b"), now_ms_);
}

TEST_F(CalibrationsTest, WhoLaunchesNothingInItsMomentHoldsNobodyForLonger) {
  Ask("a", 100);
  EXPECT_EQ(Step(), kBusy);
  EXPECT_EQ(Step(5), kBusy);
  EXPECT_EQ(Step(119), kBusy);
  EXPECT_EQ(Step(1), kIdle);
  EXPECT_EQ(HeldUntil("b"), now_ms_);
}

TEST_F(CalibrationsTest, ThatSomethingRunsIsNotWaitedForForEver) {
  Ask("a", 10);
  containers_.at("b").flight->since = 1;
  EXPECT_EQ(Step(), kBusy);
  EXPECT_EQ(Step(119), kBusy);
  EXPECT_EQ(Accounting("a").alone_from, 0u);
  EXPECT_EQ(Step(1), kBusy);
  EXPECT_EQ(Accounting("a").alone_from, now_ms_ * kMs);
}

TEST_F(CalibrationsTest, WhoDoesNotSayWhatItHasRunningIsGivenTimeForIt) {
  gpus_["GPU-1"][2].is_measured = false;
  Ask("a", 10);
  EXPECT_EQ(Step(), kBusy);
  EXPECT_EQ(Step(119), kBusy);
  EXPECT_EQ(Accounting("a").alone_from, 0u);
  EXPECT_EQ(Step(1), kBusy);
  EXPECT_EQ(Accounting("a").alone_from, now_ms_ * kMs);
}

TEST_F(CalibrationsTest, WhatSomebodyHasRunningWhoHasHadNothingForLongIsNotWaitedFor) {
  gpus_["GPU-1"][2].is_active = false;
  containers_.at("c").flight->since = 1;
  Ask("a", 10);
  EXPECT_EQ(Step(), kBusy);
  EXPECT_EQ(Step(5), kBusy);
  EXPECT_EQ(Accounting("a").alone_from, now_ms_ * kMs);
  EXPECT_EQ(HeldUntil("c"), now_ms_ + 30) << "it is held, too";
}

TEST_F(CalibrationsTest, AnAgentThatComesTooLateMeasuresNothing) {
  Ask("a", 10);
  containers_.at("b").flight->since = 1;
  EXPECT_EQ(Step(), kBusy);
  const uint64_t held_until_ms = HeldUntil("b");
  containers_.at("b").flight->since = 0;
  EXPECT_EQ(Step(160), kIdle);
  EXPECT_EQ(Accounting("a").alone_from, 0u);
  EXPECT_EQ(HeldUntil("b"), held_until_ms);
  now_ms_ += 100'000;
  Ask("a", 10);
  EXPECT_EQ(Step(), kBusy);
  EXPECT_EQ(Step(3'600'000), kIdle);
  Ask("a", 10);
  EXPECT_EQ(Step(600), kIdle) << "for four times as long as they were held";
  Ask("a", 10);
  EXPECT_EQ(Step(160), kBusy);
}

TEST_F(CalibrationsTest, ARunThatWouldHoldOthersForTooLongIsNotMeasured) {
  Ask("a", 201);
  EXPECT_EQ(Step(), kIdle);
  Ask("a", 200);
  EXPECT_EQ(Step(), kBusy);
}

TEST_F(CalibrationsTest, WhoAskedLongAgoOrInTheFutureDoesNotAsk) {
  Ask("a", 100);
  EXPECT_EQ(Step(301), kIdle);
  Ask("a", 100);
  now_ms_ -= 1;
  EXPECT_EQ(Step(), kIdle);
}

TEST_F(CalibrationsTest, WhoIsAloneOnItsGpuNeedsNoMoment) {
  gpus_["GPU-1"].resize(1);
  Ask("a", 100);
  EXPECT_EQ(Step(), kIdle);
}

TEST_F(CalibrationsTest, WhoWaitedForLongestIsNext) {
  Ask("a", 100);
  Ask("b", 100);
  EXPECT_EQ(Step(), kBusy);
  Calibrate("a");
  Ask("a", 100);
  Ask("b", 100);
  EXPECT_EQ(Step(219), kIdle) << "they run for four times as long as they were held";
  Ask("b", 100);
  EXPECT_EQ(Step(1), kBusy);
  Calibrate("b");
}

TEST_F(CalibrationsTest, AGpusContainersAreHeldForAFiftiethOfTheTime) {
  const uint64_t from_ms = now_ms_;
  // A container that makes the largest request and launches no kernel.
  containers_.at("a").flight->since = 1;
  uint64_t held_ms = 0;
  while (now_ms_ - from_ms < 1'000'000) {
    Ask("a", 200);
    if (Step(5) == kBusy) held_ms += 5;
  }
  EXPECT_LE(held_ms, 1'000'000u / 50 + 1'500);
  EXPECT_GE(held_ms, 1'000'000u / 50);
}

TEST_F(CalibrationsTest, WhoEndsInItsMomentHoldsNobody) {
  Ask("a", 100);
  EXPECT_EQ(Step(), kBusy);
  std::erase_if(gpus_["GPU-1"], [](const auto& container) { return container.grant == "a"; });
  EXPECT_EQ(Step(5), kIdle);
  EXPECT_EQ(HeldUntil("b"), now_ms_);
}

TEST_F(CalibrationsTest, EachGpuHasItsOwn) {
  Region& other = Make("d");
  Region& beside = Make("e");
  const FollowedRegion d = FollowedRegion::Open(directory_, FileOf("d"));
  const FollowedRegion e = FollowedRegion::Open(directory_, FileOf("e"));
  gpus_["GPU-2"] = {{"d", &d, 0}, {"e", &e, 0}};
  Ask("a", 100);
  EXPECT_EQ(Step(), kBusy);
  EXPECT_EQ(beside.accounting.calibrations[0].held_until, 0u);
  other.accounting.calibrations[0].wanted_at = now_ms_ * kMs;
  other.accounting.calibrations[0].wanted_ns = 5 * kMs;
  EXPECT_EQ(Step(), kBusy);
  EXPECT_EQ(beside.accounting.calibrations[0].held_until, (now_ms_ + 140) * kMs);
}

}  // namespace
}  // namespace tessera
