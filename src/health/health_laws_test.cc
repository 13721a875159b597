// SPDX-License-Identifier: Apache-2.0
// Laws that hold for every sequence of evidence, tested on random ones. The seeds are fixed, so a
// failure can be repeated by its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "health/health.h"

namespace tessera {
namespace {

struct Step {
  Verdict before;
  Evidence evidence;
  Verdict after;
  Steady now;
};

HealthPolicy RandomPolicy(std::mt19937& random) {
  const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  HealthPolicy policy;
  policy.failures = 1 + upto(4);
  policy.window = Duration(1'000 + upto(60'000));
  policy.passes = 1 + upto(4);
  policy.recovery = Duration(upto(20'000));
  policy.flaps = upto(5);
  policy.flap_window = Duration(1'000 + upto(600'000));
  policy.hold = Duration(upto(60'000));
  policy.hold_limit = Duration(upto(600'000));
  return policy;
}

// Plays random evidence, and passes every step to `look`.
void Play(unsigned seed, const std::function<void(const HealthPolicy&, const Step&)>& look) {
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const HealthPolicy policy = RandomPolicy(random);
  const auto sickness = random() % 10;  // bad answers out of ten
  Verdict verdict;
  Steady now{Duration(5'000'000)};
  for (int i = 0; i < 400 && !testing::Test::HasFailure(); ++i) {
    now += Duration(random() % 8'000);
    Evidence evidence;
    evidence.kind = EvidenceKind::kGood;
    if (random() % 10 < sickness) {
      evidence.kind = static_cast<EvidenceKind>(1 + random() % 3);
    }
    const Verdict after = Judge(verdict, evidence, policy, now);
    look(policy, {verdict, evidence, after, now});
    verdict = after;
  }
}

constexpr unsigned kSeeds = 300;

TEST(HealthLaws, NoDeviceIsOfferedWithoutAGoodAnswerSinceTheLastFatalOne) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    bool good = false;
    Play(seed, [&](const HealthPolicy&, const Step& step) {
      if (step.evidence.kind == EvidenceKind::kFatal) good = false;
      if (step.evidence.kind == EvidenceKind::kGood) good = true;
      ASSERT_TRUE(good || !step.after.offered());
    });
  }
}

TEST(HealthLaws, NoDeviceReturnsWithoutEnoughGoodAnswersAndTime) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    int passes = 0;
    Steady first;
    Play(seed, [&](const HealthPolicy& policy, const Step& step) {
      if (step.evidence.kind != EvidenceKind::kGood) passes = 0;
      if (step.evidence.kind == EvidenceKind::kGood && passes++ == 0) first = step.now;
      const bool was_out = step.before.state == HealthState::kUnhealthy ||
                           step.before.state == HealthState::kRecovering;
      if (!was_out || !step.after.offered()) return;
      ASSERT_EQ(step.after.state, HealthState::kHealthy);
      ASSERT_GE(passes, policy.passes);
      ASSERT_GE(step.now - first, policy.recovery);
      ASSERT_GE(step.now, step.before.held_until);
    });
  }
}

TEST(HealthLaws, GoodAnswersBringEveryDeviceBack) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Verdict verdict;
    Steady now;
    HealthPolicy policy;
    Play(seed, [&](const HealthPolicy& used, const Step& step) {
      policy = used;
      verdict = step.after;
      now = step.now;
    });
    now = std::max(now, verdict.held_until);
    for (int i = 0; i <= policy.passes; ++i) {
      now += policy.recovery;
      verdict = Judge(verdict, {EvidenceKind::kGood, EvidenceSource::kCheck, {}, ""}, policy, now);
    }
    ASSERT_EQ(verdict.state, HealthState::kHealthy) << seed;
  }
}

TEST(HealthLaws, SinceChangesWithTheStateAndOnlyThen) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Play(seed, [](const HealthPolicy&, const Step& step) {
      const bool changed = step.before.state != step.after.state;
      ASSERT_EQ(step.after.since, changed ? step.now : step.before.since);
    });
  }
}

TEST(HealthLaws, AnOfferedDeviceHasTooFewFailuresToBeOut) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Play(seed, [](const HealthPolicy& policy, const Step& step) {
      ASSERT_LE(step.after.failures.size(), static_cast<size_t>(policy.failures));
      if (step.after.state != HealthState::kSuspect) return;
      ASSERT_LT(step.after.failures.size(), static_cast<size_t>(policy.failures));
    });
  }
}

}  // namespace
}  // namespace tessera
