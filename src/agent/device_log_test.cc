// SPDX-License-Identifier: Apache-2.0
#include "agent/device_log.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace tessera::agent {
namespace {

const std::string kSource = "dummy.com/npu";

class ReportTest : public testing::Test {
 protected:
  ReportTest() {
    log::SetSink([this](std::string_view line) {
      lines_.emplace_back(line.substr(line.find(' ') + 1));  // without the time
    });
  }
  ~ReportTest() override { log::SetSink(nullptr); }

  Transition Fell(const std::string& id) {
    Transition step;
    step.key = {kSource, id};
    step.before.state = HealthState::kHealthy;
    step.after.state = HealthState::kUnhealthy;
    step.after.reason = Reason::kFatalEvent;
    step.after.detail = "told to fail";
    return step;
  }

  std::vector<std::string> lines_;
  http::Metrics metrics_;
};

TEST_F(ReportTest, EveryStepOfAFewDevicesIsALine) {
  LogTransitions(kSource, {Fell("0"), Fell("1")}, metrics_);
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[0],
            "WARN device unhealthy device=dummy.com/npu/0 from=healthy "
            "reason=fatal-event error=\"told to fail\" advice=\"" +
                std::string(ReasonAdvice(Reason::kFatalEvent)) + "\"");
}

TEST_F(ReportTest, StepsOfManyDevicesAreOneLine) {
  std::vector<Transition> steps;
  for (int i = 0; i < 64; ++i) steps.push_back(Fell(std::to_string(i)));
  LogTransitions(kSource, steps, metrics_);
  EXPECT_EQ(lines_,
            std::vector<std::string>{"INFO devices unhealthy resource=dummy.com/npu count=64"});
}

TEST_F(ReportTest, DevicesThatPassTheirFirstCheckTogetherAreOneLine) {
  const auto passed = [](const std::string& id) {
    Transition step;
    step.key = {kSource, id};
    step.after.state = HealthState::kHealthy;
    return step;
  };
  LogTransitions(kSource, {passed("0"), passed("1"), Fell("2")}, metrics_);
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_TRUE(lines_[0].starts_with("WARN device unhealthy device=dummy.com/npu/2"));
  EXPECT_EQ(lines_[1], "INFO devices healthy resource=dummy.com/npu count=2");
  lines_.clear();
  LogTransitions(kSource, {passed("0")}, metrics_);
  EXPECT_EQ(lines_,
            std::vector<std::string>{"INFO device healthy device=dummy.com/npu/0 from=unverified"});
}

TEST_F(ReportTest, PodsThatUsedMpsAreNamedWhenItIsDown) {
  Ledger ledger(Duration(1'000));
  ledger.Reconcile({{"a", "one", "u1", "main", kSource, {"0::1"}},
                    {"a", "two", "u2", "main", kSource, {"1::0"}},
                    {"", "", "u3", "init", kSource, {"0::0"}},
                    {"a", "other", "u4", "main", "dummy.com/other", {"0::0"}}},
                   {kSource, "dummy.com/other"}, Steady(Duration(1)));
  Transition down = Fell("0");
  down.after.reason = Reason::kMpsDown;

  ReportHolders(kSource, {down, Fell("1")}, ledger);
  ReportHolders("dummy.com/third", {down}, ledger);

  EXPECT_EQ(lines_,
            std::vector<std::string>{"WARN pods may have lost MPS; restart those whose CUDA calls "
                                     "fail resource=dummy.com/npu pods=\"a/one, u3\""});
}

TEST_F(ReportTest, EveryStepIsCounted) {
  LogTransitions(kSource, {Fell("0"), Fell("1")}, metrics_);
  const std::string text = metrics_.Expose();
  EXPECT_NE(text.find("tessera_health_transitions_total{resource=\"dummy.com/npu\","
                      "from=\"healthy\",to=\"unhealthy\",reason=\"fatal-event\"} 2\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace tessera::agent
