// SPDX-License-Identifier: Apache-2.0
#include "health/health.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tessera {
namespace {

constexpr Steady kStart{Duration(1'000'000)};

Evidence Good() {
  return {EvidenceKind::kGood, EvidenceSource::kCheck, Reason::kCheckFailed, ""};
}
Evidence Bad(const std::string& detail = "injected failure") {
  return {EvidenceKind::kBad, EvidenceSource::kCheck, Reason::kCheckFailed, detail};
}
Evidence Fatal() {
  return {EvidenceKind::kFatal, EvidenceSource::kEvent, Reason::kFatalEvent, "fell off the bus"};
}
Evidence Reset() {
  return {EvidenceKind::kReset, EvidenceSource::kEvent, Reason::kFatalEvent, ""};
}
Evidence Unknown() {
  return {EvidenceKind::kUnknown, EvidenceSource::kCheck, Reason::kCheckTimedOut, "no answer"};
}

// A device and its clock: a page of one-line steps.
class HealthTest : public testing::Test {
 protected:
  HealthState After(const Evidence& evidence, Duration later = Duration(1'000)) {
    now_ += later;
    verdict_ = Judge(verdict_, evidence, policy_, now_);
    return verdict_.state;
  }
  void MakeHealthy() { ASSERT_EQ(After(Good()), HealthState::kHealthy); }
  void FallAndRecover() {
    ASSERT_EQ(After(Fatal()), HealthState::kUnhealthy);
    ASSERT_EQ(After(Good()), HealthState::kRecovering);
    ASSERT_EQ(After(Good(), policy_.recovery), HealthState::kHealthy);
  }

  HealthPolicy policy_;
  Verdict verdict_;
  Steady now_ = kStart;
};

TEST_F(HealthTest, ANewDeviceIsNotOffered) {
  EXPECT_EQ(verdict_.state, HealthState::kUnverified);
  EXPECT_EQ(verdict_.reason, Reason::kNotChecked);
  EXPECT_FALSE(verdict_.offered());
}

TEST_F(HealthTest, OneGoodAnswerVerifies) {
  EXPECT_EQ(After(Good()), HealthState::kHealthy);
  EXPECT_EQ(verdict_.since, now_);
  EXPECT_TRUE(verdict_.offered());
}

TEST_F(HealthTest, ABadFirstAnswerIsUnhealthyButNoFall) {
  EXPECT_EQ(After(Bad()), HealthState::kUnhealthy);
  EXPECT_EQ(verdict_.failures.size(), 1U);
  EXPECT_TRUE(verdict_.falls.empty());
  EXPECT_EQ(verdict_.detail, "injected failure");
}

TEST_F(HealthTest, OneBadAnswerMakesASuspectThatIsStillOffered) {
  MakeHealthy();

  EXPECT_EQ(After(Bad()), HealthState::kSuspect);
  EXPECT_TRUE(verdict_.offered());
  EXPECT_EQ(verdict_.reason, Reason::kCheckFailed);
}

TEST_F(HealthTest, AGoodAnswerClearsASuspect) {
  MakeHealthy();
  After(Bad());

  EXPECT_EQ(After(Good()), HealthState::kHealthy);
  EXPECT_EQ(verdict_.detail, "");
}

TEST_F(HealthTest, EnoughBadAnswersWithinTheWindowMakeUnhealthy) {
  MakeHealthy();

  EXPECT_EQ(After(Bad()), HealthState::kSuspect);
  EXPECT_EQ(After(Unknown()), HealthState::kSuspect);
  EXPECT_EQ(After(Bad("third")), HealthState::kUnhealthy);
  EXPECT_EQ(verdict_.detail, "third");
  EXPECT_EQ(verdict_.falls, std::vector<Steady>{now_});
}

TEST_F(HealthTest, BadAnswersCountEvenWithGoodOnesBetween) {
  MakeHealthy();

  After(Bad());
  After(Good());
  After(Bad());
  After(Good());

  EXPECT_EQ(After(Bad()), HealthState::kUnhealthy);
}

TEST_F(HealthTest, BadAnswersOutsideTheWindowAreForgotten) {
  MakeHealthy();

  After(Bad());
  After(Bad());
  EXPECT_EQ(After(Bad(), policy_.window), HealthState::kSuspect);
  EXPECT_EQ(verdict_.failures, std::vector<Steady>{now_});
}

TEST_F(HealthTest, FatalEvidenceIsUnhealthyAtOnceFromAnyState) {
  for (HealthState state : {HealthState::kUnverified, HealthState::kHealthy, HealthState::kSuspect,
                            HealthState::kUnhealthy, HealthState::kRecovering}) {
    Verdict before;
    before.state = state;

    const Verdict after = Judge(before, Fatal(), policy_, now_);

    EXPECT_EQ(after.state, HealthState::kUnhealthy) << HealthStateName(state);
    EXPECT_EQ(after.reason, Reason::kFatalEvent);
    EXPECT_EQ(after.detail, "fell off the bus");
    EXPECT_EQ(after.falls.size(), before.offered() ? 1U : 0U);
  }
}

TEST_F(HealthTest, RecoveryNeedsEnoughGoodAnswers) {
  MakeHealthy();
  After(Fatal());
  policy_.passes = 3;
  policy_.recovery = Duration(0);

  EXPECT_EQ(After(Good()), HealthState::kRecovering);
  EXPECT_EQ(After(Good()), HealthState::kRecovering);
  EXPECT_EQ(After(Good()), HealthState::kHealthy);
}

TEST_F(HealthTest, RecoveryNeedsItsTime) {
  MakeHealthy();
  After(Fatal());

  EXPECT_EQ(After(Good()), HealthState::kRecovering);
  EXPECT_EQ(After(Good(), policy_.recovery - Duration(1)), HealthState::kRecovering);
  EXPECT_EQ(verdict_.reason, Reason::kFatalEvent);
  EXPECT_EQ(After(Good(), Duration(1)), HealthState::kHealthy);
}

TEST_F(HealthTest, ABadAnswerEndsARecoveryWithoutAFall) {
  MakeHealthy();
  After(Fatal());
  After(Good());

  EXPECT_EQ(After(Bad()), HealthState::kUnhealthy);
  EXPECT_EQ(verdict_.passes, 0);
  EXPECT_EQ(verdict_.falls.size(), 1U);
  EXPECT_EQ(After(Good(), policy_.recovery), HealthState::kRecovering);
  EXPECT_EQ(verdict_.since, now_);
}

TEST_F(HealthTest, FlappingDevicesAreHeldOut) {
  MakeHealthy();
  FallAndRecover();
  FallAndRecover();

  After(Fatal());

  EXPECT_EQ(verdict_.reason, Reason::kFlapping);
  EXPECT_EQ(verdict_.detail, "held out after 3 or more falls within 10m; last: fell off the bus");
  EXPECT_EQ(verdict_.held_until, now_ + policy_.hold);
  After(Good());
  EXPECT_EQ(After(Good(), policy_.recovery), HealthState::kRecovering);
  EXPECT_EQ(verdict_.reason, Reason::kFlapping);
  EXPECT_EQ(After(Good(), policy_.hold), HealthState::kHealthy);
}

TEST_F(HealthTest, FurtherBadAnswersLeaveAHeldDeviceFlapping) {
  MakeHealthy();
  FallAndRecover();
  FallAndRecover();
  After(Fatal());

  After(Bad("still sick"));
  EXPECT_EQ(verdict_.reason, Reason::kFlapping);
  EXPECT_EQ(verdict_.detail, "held out after 3 or more falls within 10m; last: still sick");
  After(Bad("still sick"), policy_.hold);
  EXPECT_EQ(verdict_.reason, Reason::kCheckFailed);
  EXPECT_EQ(verdict_.detail, "still sick");
}

TEST_F(HealthTest, TheHoldDoublesWithEachFallUpToItsLimit) {
  policy_.flap_window = Duration(100'000'000);
  policy_.hold_limit = Duration(200'000);
  MakeHealthy();
  std::vector<int64_t> holds;
  for (int fall = 0; fall < 6; ++fall) {
    After(Fatal());
    holds.push_back((std::max(verdict_.held_until, now_) - now_).count());
    After(Good());
    ASSERT_EQ(After(Good(), Duration(300'000)), HealthState::kHealthy);
  }

  EXPECT_EQ(holds, (std::vector<int64_t>{0, 0, 60'000, 120'000, 200'000, 200'000}));
}

TEST_F(HealthTest, OldFallsAreForgotten) {
  MakeHealthy();
  FallAndRecover();
  FallAndRecover();

  After(Fatal(), policy_.flap_window);

  EXPECT_EQ(verdict_.falls, std::vector<Steady>{now_});
  EXPECT_EQ(verdict_.reason, Reason::kFatalEvent);
}

TEST_F(HealthTest, FlappingCanBeSwitchedOff) {
  policy_.flaps = 0;
  MakeHealthy();
  for (int i = 0; i < 10; ++i) FallAndRecover();

  EXPECT_EQ(verdict_.held_until, Steady());
}

TEST_F(HealthTest, WhatNeedsAResetStaysOutUntilThereWasOne) {
  MakeHealthy();
  Evidence fatal = Fatal();
  fatal.remedy = Remedy::kReset;
  After(fatal);

  EXPECT_EQ(After(Good(), Duration(3'600'000)), HealthState::kUnhealthy);
  EXPECT_EQ(After(Fatal()), HealthState::kUnhealthy);  // which alone needs none
  EXPECT_EQ(After(Reset()), HealthState::kUnhealthy);
  EXPECT_EQ(After(Good()), HealthState::kRecovering);
  EXPECT_EQ(After(Good(), policy_.recovery), HealthState::kHealthy);
}

TEST_F(HealthTest, WhatNeedsARebootIsNotHelpedByAReset) {
  MakeHealthy();
  Evidence fatal = Fatal();
  fatal.remedy = Remedy::kReboot;
  After(fatal);
  After(Reset());

  EXPECT_EQ(After(Good(), Duration(3'600'000)), HealthState::kUnhealthy);
  EXPECT_EQ(verdict_.remedy, Remedy::kReboot);
  EXPECT_EQ(verdict_.detail, "fell off the bus");
}

TEST_F(HealthTest, AResetOfAHealthyDeviceChangesNothing) {
  MakeHealthy();
  const Verdict before = verdict_;

  EXPECT_EQ(After(Reset()), HealthState::kHealthy);
  EXPECT_EQ(verdict_, before);
}

TEST_F(HealthTest, ProbationKeepsADeviceOutWhateverChecksSay) {
  MakeHealthy();
  Evidence fatal = Fatal();
  fatal.probation = Duration(300'000);
  After(fatal);
  const Steady begin = now_;

  After(Good());
  EXPECT_EQ(After(Good(), begin + Duration(299'999) - now_), HealthState::kRecovering);
  EXPECT_EQ(verdict_.reason, Reason::kFatalEvent);
  EXPECT_EQ(After(Good(), Duration(1)), HealthState::kHealthy);
  EXPECT_EQ(verdict_.held_until, Steady());
}

TEST_F(HealthTest, ASecondEventWithinTheProbationBeginsItAnew) {
  MakeHealthy();
  Evidence fatal = Fatal();
  fatal.probation = Duration(300'000);
  After(fatal);
  After(Good());

  EXPECT_EQ(After(fatal, Duration(200'000)), HealthState::kUnhealthy);

  EXPECT_EQ(verdict_.falls.size(), 1U);  // it was out all along
  EXPECT_EQ(After(Good()), HealthState::kRecovering);
  EXPECT_EQ(After(Good(), Duration(298'999)), HealthState::kRecovering);
  EXPECT_EQ(After(Good(), Duration(1)), HealthState::kHealthy);
}

TEST_F(HealthTest, AShorterProbationEndsNoLongerOne) {
  MakeHealthy();
  Evidence fatal = Fatal();
  fatal.probation = Duration(300'000);
  After(fatal);
  fatal.probation = Duration(10'000);

  After(fatal, Duration(100'000));

  EXPECT_EQ(After(Good()), HealthState::kRecovering);
  EXPECT_EQ(After(Good(), Duration(198'999)), HealthState::kRecovering);
  EXPECT_EQ(After(Good(), Duration(1)), HealthState::kHealthy);
}

TEST_F(HealthTest, WhatNeedsAResetAndHasAProbationNeedsBoth) {
  MakeHealthy();
  Evidence fatal = Fatal();
  fatal.remedy = Remedy::kReset;
  fatal.probation = Duration(60'000);
  After(fatal);

  EXPECT_EQ(After(Reset()), HealthState::kUnhealthy);
  EXPECT_EQ(After(Good()), HealthState::kRecovering);
  EXPECT_EQ(After(Good(), Duration(57'999)), HealthState::kRecovering);
  EXPECT_EQ(After(Good(), Duration(1)), HealthState::kHealthy);

  After(fatal);
  EXPECT_EQ(After(Good(), Duration(60'000)), HealthState::kUnhealthy);
  After(Reset());
  EXPECT_EQ(After(Good()), HealthState::kRecovering);
  EXPECT_EQ(After(Good(), policy_.recovery), HealthState::kHealthy);
}

TEST_F(HealthTest, ABadAnswerOnProbationIsNotCalledFlapping) {
  MakeHealthy();
  Evidence fatal = Fatal();
  fatal.probation = Duration(300'000);
  After(fatal);

  After(Bad("no memory info"));

  EXPECT_EQ(verdict_.reason, Reason::kCheckFailed);
  EXPECT_EQ(verdict_.detail, "no memory info");
}

TEST_F(HealthTest, RepeatedGoodEvidenceChangesNothing) {
  MakeHealthy();
  After(Good());
  const Verdict before = verdict_;

  After(Good());

  EXPECT_EQ(verdict_, before);
}

TEST_F(HealthTest, RepeatedBadEvidenceLeavesSinceAsItIs) {
  MakeHealthy();
  After(Fatal());
  const Steady since = verdict_.since;

  After(Bad());
  After(Unknown());

  EXPECT_EQ(verdict_.since, since);
}

TEST_F(HealthTest, AVerdictStaysSmall) {
  MakeHealthy();
  for (int i = 0; i < 5'000; ++i) {
    After(i % 3 == 0 ? Bad(std::string(10'000, 'x')) : Good(), Duration(1));
    policy_.recovery = Duration(0);
    policy_.hold = Duration(0);
  }

  EXPECT_LE(verdict_.failures.size(), 3U);
  EXPECT_LE(verdict_.falls.size(), 19U);
  EXPECT_LE(verdict_.detail.size(), kDetailLimit);
}

TEST_F(HealthTest, ALongDetailIsCutBetweenCharacters) {
  After(Bad(std::string(kDetailLimit - 1, 'x') + "\xC3\xBC!"));

  EXPECT_EQ(verdict_.detail, std::string(kDetailLimit - 1, 'x'));
}

TEST(Remedy, NamesReadBack) {
  for (Remedy remedy : {Remedy::kNone, Remedy::kReset, Remedy::kReboot}) {
    EXPECT_EQ(RemedyFromName(RemedyName(remedy)), remedy);
  }
  EXPECT_EQ(RemedyFromName("prayer"), std::nullopt);
}

TEST(HealthState, NamesReadBack) {
  EXPECT_EQ(HealthStateName(HealthState::kRecovering), "recovering");
  for (HealthState state : {HealthState::kUnverified, HealthState::kHealthy, HealthState::kSuspect,
                            HealthState::kUnhealthy, HealthState::kRecovering}) {
    EXPECT_EQ(HealthStateFromName(HealthStateName(state)), state);
  }
  EXPECT_EQ(HealthStateFromName("well"), std::nullopt);
}

}  // namespace
}  // namespace tessera
