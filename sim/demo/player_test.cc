// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/player.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

namespace tessera::demo {
namespace {

constexpr char kHead[] = R"(config: |
  version: tessera/v1
  ledger: {interval: 1s}
  resources:
    - name: dummy.com/npu
      dummy: {count: 4}
steps:
  - expect: {resource: dummy.com/npu, capacity: 4, allocatable: 4, within: 20s}
)";

// Scenarios of a few steps against a real kubelet and the built agent.
class PlayerTest : public ::testing::Test {
 protected:
  // Failures and unmet expectations, in order.
  std::vector<std::string> Play(const std::string& steps) {
    const ReadScenario read =
        ParseScenario(config::Document::Parse("try.yaml", std::string(kHead) + steps));
    EXPECT_EQ(config::Text(read.problems), "");
    const std::unique_ptr<Stage> stage = *Stage::Build(
        {.kubelet = {}, .program = TESSERA_PROGRAM}, [this](Observation seen) { Take(seen); },
        interruption_);
    Player(read.scenario, *stage, interruption_, {.speed = 100}).Play();
    const std::lock_guard lock(mutex_);
    return troubles_;
  }

  Interruption interruption_;
  std::mutex mutex_;
  bool compared_ = false;                 // the ledger; under mutex_
  std::map<std::string, Steady> said_{};  // captions; under mutex_

 private:
  void Take(const Observation& seen) {
    const std::lock_guard lock(mutex_);
    if (const auto* refused = std::get_if<Refused>(&seen.what)) {
      troubles_.push_back(seen.scenario_line + " " + refused->what + ": " + refused->error.message);
    } else if (const auto* expected = std::get_if<Expected>(&seen.what)) {
      if (!expected->met) troubles_.push_back(expected->text + "; seen: " + expected->seen);
    } else if (const auto* caption = std::get_if<Caption>(&seen.what)) {
      said_[caption->text] = SystemClock().Now();
    } else if (std::get_if<LedgerRead>(&seen.what) != nullptr) {
      compared_ = true;
    }
  }
  std::vector<std::string> troubles_;  // under mutex_
};
using Troubles = std::vector<std::string>;

TEST_F(PlayerTest, DevicesOfAnAgentThatIsGoneAreNotOut) {
  EXPECT_EQ(Play("  - agent: kill\n"
                 "  - expect: {resource: dummy.com/npu, allocatable: 0, within: 20s}\n"
                 "  - expect: {resource: dummy.com/npu, out: 4, within: 100ms}\n"),
            Troubles({"dummy.com/npu out 4; seen: its plugin has hung up"}));
}

// The agent's start takes longer than the times of both steps.
TEST_F(PlayerTest, AnUnhurriedStepKeepsItsDistanceFromTheOneBeforeThatIsLate) {
  EXPECT_EQ(Play("  - {at: 1ms, say: a}\n  - {at: 2001ms, unhurried: true, say: b}\n"), Troubles{});
  // Each is noted a moment after its step began.
  EXPECT_GE(said_["b"] - said_["a"], Duration(1'000));
}

TEST_F(PlayerTest, GoodScenarioEndsWithTheLedger) {
  EXPECT_EQ(Play("  - run: {pod: p, limits: {dummy.com/npu: 3}}\n"
                 "  - run: {pod: q, limits: {dummy.com/npu: 2}}\n"
                 "  - expect: {pod: p}\n"
                 "  - expect: {pod: q, refused: \"Requested: 2, Available: 1\"}\n"
                 "  - expect: {resource: dummy.com/npu, held: 3}\n"),
            Troubles());
  EXPECT_TRUE(compared_);
}

TEST_F(PlayerTest, MissedExpectationEndsIt) {
  EXPECT_EQ(Play("  - expect: {resource: dummy.com/npu, capacity: 5, within: 100ms}\n"
                 "  - end: {pod: p}\n"),
            Troubles({"dummy.com/npu capacity 5; seen: capacity 4"}));
  EXPECT_FALSE(compared_);
}

TEST_F(PlayerTest, DevicesThatAreOutAreCounted) {
  EXPECT_EQ(Play("  - expect: {resource: dummy.com/npu, out: 0}\n"
                 "  - fault: {verb: fail, resource: dummy.com/npu, device: \"2\"}\n"
                 "  - expect: {resource: dummy.com/npu, out: 1, within: 20s}\n"
                 "  - expect: {resource: dummy.com/npu, out: 0, within: 100ms}\n"),
            Troubles({"dummy.com/npu out 0; seen: out 1"}));
}

TEST_F(PlayerTest, HardwareThatIsNotThereCannotChange) {
  EXPECT_EQ(Play("  - hardware: \"gpus: {0: {lost: true}}\"\n"),
            Troubles({"try.yaml:9 change of the hardware: there is no hardware; --hardware "
                      "says what there is"}));
}

TEST_F(PlayerTest, EndOfAPodThatDoesNotRunIsAnErrorWithItsPlace) {
  const Troubles troubles = Play("  - end: {pod: p}\n");
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_TRUE(troubles[0].starts_with("try.yaml:9 end of pod p: ")) << troubles[0];
}

TEST_F(PlayerTest, AgentIsKilledOnlyOnce) {
  EXPECT_EQ(Play("  - agent: kill\n  - agent: kill\n"),
            Troubles({"try.yaml:10 kill of the agent: no agent runs"}));
}

TEST_F(PlayerTest, SecondAgentNeedsAFirst) {
  EXPECT_EQ(Play("  - agent: start\n"),
            Troubles({"try.yaml:9 start of an agent: 1 agent running already"}));
}

TEST_F(PlayerTest, InterruptionEndsIt) {
  interruption_.Raise(2);
  EXPECT_EQ(Play("  - end: {pod: p}\n"), Troubles());
  EXPECT_FALSE(compared_);
}

}  // namespace
}  // namespace tessera::demo
