// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/steps.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sim/demo/scenarios_for_test.h"

namespace tessera::demo {
namespace {

TEST(Steps, StepsAreOrderedByTimeAndKeepTheFilesOrderWithinOne) {
  const ReadScenario read = ParseSteps(
      "  - {at: 2s, say: c}\n"
      "  - {at: 1s, say: a}\n"
      "  - {at: 1s, say: b}\n");
  std::string order;
  for (const Step& step : read.scenario.steps) order += std::get<Say>(step.action).text;
  EXPECT_EQ(order, "abc");
}

TEST(Steps, StepWithoutATimeComesWithTheOneBefore) {
  const ReadScenario read = ParseSteps("  - {at: 2s, say: a}\n  - say: b\n");
  EXPECT_EQ(read.scenario.steps[1].at, Duration(2'000));
}

TEST(Steps, StepMayBeUnhurried) {
  const ReadScenario read = ParseSteps("  - {at: 1s, unhurried: true, say: a}\n  - say: b\n");
  EXPECT_TRUE(read.scenario.steps[0].unhurried);
  EXPECT_FALSE(read.scenario.steps[1].unhurried);
}

TEST(Steps, PodHasInitContainerThenSidecarThenMain) {
  const ReadScenario read =
      ParseSteps("  - run: {pod: p, limits: {a.b/c: 2}, init: {a.b/c: 1}, sidecar: {a.b/d: 3}}\n");
  const auto& pod = std::get<RunPod>(read.scenario.steps[0].action).pod;
  ASSERT_EQ(pod.containers.size(), 3u);
  EXPECT_EQ(pod.containers[0].name, "init");
  EXPECT_EQ(pod.containers[1].name, "sidecar");
  EXPECT_EQ(pod.containers[2].name, "main");
  EXPECT_EQ(pod.containers[2].limits, (std::map<std::string, int>{{"a.b/c", 2}}));
}

TEST(Steps, PodWithATimeToLiveGetsItsEnd) {
  const ReadScenario read =
      ParseSteps("  - {at: 1s, run: {pod: p, limits: {a.b/c: 1}, for: 2s}}\n");
  ASSERT_EQ(read.scenario.steps.size(), 2u);
  const auto& end = std::get<EndPod>(read.scenario.steps[1].action);
  EXPECT_EQ(read.scenario.steps[1].at, Duration(3'000));
  EXPECT_EQ(end.pod, "p");
  EXPECT_FALSE(end.must_run);
}

TEST(Steps, BurstBecomesPodsOneAfterTheOther) {
  const ReadScenario read =
      ParseSteps("  - {at: 1s, burst: {prefix: p, count: 3, every: 100ms, limits: {a.b/c: 1}}}\n");
  ASSERT_EQ(read.scenario.steps.size(), 3u);
  EXPECT_EQ(std::get<RunPod>(read.scenario.steps[2].action).pod.name, "p-2");
  EXPECT_EQ(read.scenario.steps[2].at, Duration(1'200));
}

TEST(Steps, AScenarioHasALimitOfPods) {
  std::string steps;
  for (int i = 0; i < 51; ++i) {
    steps += fmt::format("  - burst: {{prefix: p{}, count: 1000, limits: {{a.b/c: 1}}}}\n", i);
  }
  EXPECT_EQ(ProblemsOf(ParseSteps(steps)),
            Lines({"60: steps[50].burst: the scenario's bursts have more than 100000 pods and "
                   "resources of pods, the limit"}));
}

TEST(Steps, AScenarioHasALimitOfConfigurations) {
  std::string steps;
  for (int i = 0; i < 21; ++i) steps += "  - config: 'version: tessera/v1'\n";
  EXPECT_EQ(ProblemsOf(ParseSteps(steps)),
            Lines({"30: steps[20].config is one too many: 20 is the limit"}));
}

TEST(Steps, OneSeedGivesOneJitter) {
  const std::string steps =
      "  - burst: {prefix: p, count: 5, limits: {a.b/c: 1}, for: 1s, jitter: 10s}\n";
  const ReadScenario once = ParseSteps(steps);
  const ReadScenario again = ParseSteps(steps);
  ASSERT_EQ(once.scenario.steps.size(), 10u);
  for (size_t i = 0; i < once.scenario.steps.size(); ++i) {
    EXPECT_EQ(once.scenario.steps[i].at, again.scenario.steps[i].at);
  }
}

TEST(Steps, UnknownActionNamesTheClosest) {
  const ReadScenario read = ParseSteps("  - {at: 1s, expct: {}}\n");
  ASSERT_FALSE(read.problems.empty());
  EXPECT_EQ(read.problems[0].line, 10);
  EXPECT_EQ(read.problems[0].suggestion, "expect");
}

TEST(Steps, StepWithoutAnActionIsAProblem) {
  EXPECT_EQ(ProblemsOf(ParseSteps("  - {at: 1s}\n")),
            Lines({
                "10: steps[0] has no action; docs/how-to/develop-a-plugin.md lists them",
            }));
}

TEST(Steps, BadTimeIsNamedWithItsPlace) {
  EXPECT_EQ(ProblemsOf(ParseSteps("  - {at: soon, say: a}\n")),
            Lines({"10: steps[0].at takes a time up to 24h such as 2.5s or 250ms, not 'soon'"}));
}

TEST(Steps, NoNumberIsNoTime) {
  EXPECT_EQ(ProblemsOf(ParseSteps("  - {at: nans, say: a}\n")),
            Lines({"10: steps[0].at takes a time up to 24h such as 2.5s or 250ms, not 'nans'"}));
}

TEST(Steps, ATimeOfMoreThanADayIsNone) {
  EXPECT_EQ(
      ProblemsOf(ParseSteps("  - {at: 24h, say: a}\n  - {at: 86400001ms, say: b}\n")),
      Lines({"11: steps[1].at takes a time up to 24h such as 2.5s or 250ms, not '86400001ms'"}));
}

TEST(Steps, EveryProblemIsFoundAtOnce) {
  EXPECT_EQ(ProblemsOf(ParseSteps("  - end: {}\n"
                                  "  - run: {pod: Big_Pod, limits: {npu: 1}}\n"
                                  "  - fault: {verb: fail, resource: a.b/c}\n"
                                  "  - expect: {within: 1s}\n")),
            Lines({"10: steps[0].end.pod is missing",
                   "11: steps[1].run.pod takes lower-case letters, digits and '-', not 'Big_Pod'",
                   "11: steps[1].run.limits: 'npu' is not a resource name",
                   "12: steps[2].fault needs a device, or a pod that holds one",
                   "13: steps[3].expect asks either about a resource or about a pod"}));
}

TEST(Steps, EveryActionIsRead) {
  const ReadScenario read = ParseSteps(
      "  - end: {pod: p}\n"
      "  - end-all: {prefix: job}\n"
      "  - restart-container: {pod: p}\n"
      "  - fault: {verb: lose-all, resource: a.b/c}\n"
      "  - hardware: \"gpus: {3: {lost: true}}\"\n"
      "  - mig: \"6: []\"\n"
      "  - cordon: {resource: a.b/c, device: \"1\", reason: loud}\n"
      "  - uncordon: {resource: a.b/c, device: \"1\"}\n"
      "  - kubelet: kill\n"
      "  - agent: second-instance\n"
      "  - expect: {pod: p, running: false, within: 1s}\n");
  EXPECT_EQ(ProblemsOf(read), Lines());
  const std::vector<Step>& steps = read.scenario.steps;
  ASSERT_EQ(steps.size(), 11u);
  EXPECT_EQ(std::get<EndPod>(steps[0].action).pod, "p");
  EXPECT_EQ(std::get<EndAll>(steps[1].action).prefix, "job");
  EXPECT_EQ(std::get<RestartContainer>(steps[2].action).container, "main");
  EXPECT_EQ(std::get<Fault>(steps[3].action).verb, "lose-all");
  EXPECT_EQ(std::get<ChangeHardware>(steps[4].action).what, ChangeHardware::What::kFaults);
  EXPECT_EQ(std::get<ChangeHardware>(steps[4].action).yaml, "gpus: {3: {lost: true}}");
  EXPECT_EQ(std::get<ChangeHardware>(steps[5].action).what, ChangeHardware::What::kMig);
  EXPECT_TRUE(std::get<SetCordon>(steps[6].action).out);
  EXPECT_FALSE(std::get<SetCordon>(steps[7].action).out);
  EXPECT_EQ(std::get<MoveKubelet>(steps[8].action).to, MoveKubelet::To::kKill);
  EXPECT_EQ(std::get<MoveAgent>(steps[9].action).to, MoveAgent::To::kSecondInstance);
  EXPECT_EQ(std::get<Expect>(steps[10].action).running, false);
}

}  // namespace
}  // namespace tessera::demo
