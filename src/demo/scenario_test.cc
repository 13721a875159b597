// SPDX-License-Identifier: Apache-2.0
#include "demo/scenario.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "demo/demo.h"
#include "demo/frame.h"

namespace tessera::demo {
namespace {

constexpr char kHead[] = R"(title: a try
seed: 3
kubelet: "1.37"
config: |
  version: tessera/v1
  resources:
    - name: dummy.com/npu
      dummy: {count: 4}
steps:
)";

ReadScenario Parse(const std::string& text) {
  return ParseScenario(config::Document::Parse("try.yaml", text));
}
ReadScenario ParseSteps(const std::string& steps) {
  return Parse(kHead + steps);
}

// "line: message" of every problem.
std::vector<std::string> ProblemsOf(const ReadScenario& read) {
  std::vector<std::string> lines;
  for (const config::Problem& problem : read.problems) {
    lines.push_back(fmt::format("{}: {}", problem.line, problem.message));
  }
  return lines;
}
using Lines = std::vector<std::string>;

TEST(Scenario, HeadIsRead) {
  const ReadScenario read = ParseSteps("  - {at: 2.5s, say: hello}\n");
  EXPECT_EQ(ProblemsOf(read), Lines());
  EXPECT_EQ(read.scenario.title, "a try");
  EXPECT_EQ(read.scenario.seed, 3u);
  EXPECT_EQ(read.scenario.rules, kubelet::ConnectionRules::kFrom137);
  EXPECT_EQ(read.scenario.config.envs,
            (std::map<std::string, std::string>{{"dummy.com/npu", "DUMMY_VISIBLE_DEVICES"}}));
  EXPECT_EQ(read.scenario.length(), Duration(2'500));
  EXPECT_EQ(read.scenario.steps[0].line, 10);
  EXPECT_EQ(std::get<Say>(read.scenario.steps[0].action).text, "hello");
}

TEST(Scenario, EveryScenarioThatShipsIsGood) {
  std::vector<std::string_view> names;
  for (const BuiltinScenario& scenario : BuiltinScenarios()) {
    names.push_back(scenario.name);
    const ReadScenario read = ParseScenario(
        config::Document::Parse(std::string(scenario.name), std::string(scenario.text)));
    EXPECT_EQ(config::Text(read.problems), "") << scenario.name;
  }
  EXPECT_EQ(names, (std::vector<std::string_view>{"default", "flapping-devices", "restart-storm",
                                                  "rolling-update"}));
}

TEST(Scenario, SentencesOfScenariosThatShipFitEightyColumns) {
  for (const BuiltinScenario& scenario : BuiltinScenarios()) {
    const ReadScenario read = ParseScenario(
        config::Document::Parse(std::string(scenario.name), std::string(scenario.text)));
    for (const Step& step : read.scenario.steps) {
      if (const auto* say = std::get_if<Say>(&step.action)) {
        EXPECT_LE(Columns(say->text), 77) << say->text;
      }
    }
  }
}

TEST(Scenario, StepsAreOrderedByTimeAndKeepTheFilesOrderWithinOne) {
  const ReadScenario read = ParseSteps(
      "  - {at: 2s, say: c}\n"
      "  - {at: 1s, say: a}\n"
      "  - {at: 1s, say: b}\n");
  std::string order;
  for (const Step& step : read.scenario.steps) order += std::get<Say>(step.action).text;
  EXPECT_EQ(order, "abc");
}

TEST(Scenario, StepWithoutATimeComesWithTheOneBefore) {
  const ReadScenario read = ParseSteps("  - {at: 2s, say: a}\n  - say: b\n");
  EXPECT_EQ(read.scenario.steps[1].at, Duration(2'000));
}

TEST(Scenario, StepMayBeUnhurried) {
  const ReadScenario read = ParseSteps("  - {at: 1s, unhurried: true, say: a}\n  - say: b\n");
  EXPECT_TRUE(read.scenario.steps[0].unhurried);
  EXPECT_FALSE(read.scenario.steps[1].unhurried);
}

TEST(Scenario, PodHasInitContainerThenSidecarThenMain) {
  const ReadScenario read =
      ParseSteps("  - run: {pod: p, limits: {a.b/c: 2}, init: {a.b/c: 1}, sidecar: {a.b/d: 3}}\n");
  const auto& pod = std::get<RunPod>(read.scenario.steps[0].action).pod;
  ASSERT_EQ(pod.containers.size(), 3u);
  EXPECT_EQ(pod.containers[0].name, "init");
  EXPECT_EQ(pod.containers[1].name, "sidecar");
  EXPECT_EQ(pod.containers[2].name, "main");
  EXPECT_EQ(pod.containers[2].limits, (std::map<std::string, int>{{"a.b/c", 2}}));
}

TEST(Scenario, PodWithATimeToLiveGetsItsEnd) {
  const ReadScenario read =
      ParseSteps("  - {at: 1s, run: {pod: p, limits: {a.b/c: 1}, for: 2s}}\n");
  ASSERT_EQ(read.scenario.steps.size(), 2u);
  const auto& end = std::get<EndPod>(read.scenario.steps[1].action);
  EXPECT_EQ(read.scenario.steps[1].at, Duration(3'000));
  EXPECT_EQ(end.pod, "p");
  EXPECT_FALSE(end.must_run);
}

TEST(Scenario, BurstBecomesPodsOneAfterTheOther) {
  const ReadScenario read =
      ParseSteps("  - {at: 1s, burst: {prefix: p, count: 3, every: 100ms, limits: {a.b/c: 1}}}\n");
  ASSERT_EQ(read.scenario.steps.size(), 3u);
  EXPECT_EQ(std::get<RunPod>(read.scenario.steps[2].action).pod.name, "p-2");
  EXPECT_EQ(read.scenario.steps[2].at, Duration(1'200));
}

TEST(Scenario, OneSeedGivesOneJitter) {
  const std::string steps =
      "  - burst: {prefix: p, count: 5, limits: {a.b/c: 1}, for: 1s, jitter: 10s}\n";
  const ReadScenario once = ParseSteps(steps);
  const ReadScenario again = ParseSteps(steps);
  ASSERT_EQ(once.scenario.steps.size(), 10u);
  for (size_t i = 0; i < once.scenario.steps.size(); ++i) {
    EXPECT_EQ(once.scenario.steps[i].at, again.scenario.steps[i].at);
  }
}

TEST(Scenario, UnknownActionNamesTheClosest) {
  const ReadScenario read = ParseSteps("  - {at: 1s, expct: {}}\n");
  ASSERT_FALSE(read.problems.empty());
  EXPECT_EQ(read.problems[0].line, 10);
  EXPECT_EQ(read.problems[0].suggestion, "expect");
}

TEST(Scenario, StepWithoutAnActionIsAProblem) {
  EXPECT_EQ(ProblemsOf(ParseSteps("  - {at: 1s}\n")),
            Lines({
                "10: steps[0] has no action; docs/demo.md lists them",
            }));
}

TEST(Scenario, BadTimeIsNamedWithItsPlace) {
  EXPECT_EQ(ProblemsOf(ParseSteps("  - {at: soon, say: a}\n")),
            Lines({"10: steps[0].at takes a time such as 2.5s or 250ms, not 'soon'"}));
}

TEST(Scenario, EveryProblemIsFoundAtOnce) {
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

TEST(Scenario, ProblemInTheAgentsConfigurationHasItsLineInTheScenario) {
  const ReadScenario read = Parse(
      "config: |\n"
      "  version: tessera/v1\n"
      "  resources:\n"
      "    - name: dummy.com/npu\n"
      "      dumy: {count: 4}\n"
      "steps:\n"
      "  - say: a\n");
  EXPECT_EQ(ProblemsOf(read),
            Lines({"4: config: resources[0] needs one section of 'dummy' or 'files'",
                   "5: config: unknown key 'dumy' in resources[0]"}));
  EXPECT_EQ(read.problems[1].suggestion, "dummy");
}

TEST(Scenario, ConfigurationMeantToBeBrokenMustBeBroken) {
  EXPECT_EQ(ProblemsOf(ParseSteps("  - broken-config: |\n      version: tessera/v1\n")),
            Lines({"10: steps[0].broken-config is a good configuration"}));
  EXPECT_EQ(ProblemsOf(ParseSteps("  - broken-config: |\n      version: tessera/v9\n")), Lines());
}

TEST(Scenario, WithoutConfigurationOrStepsNothingCanBePlayed) {
  EXPECT_EQ(ProblemsOf(Parse("title: a\n")),
            Lines({"1: config is missing: the agent's configuration"}));
}

TEST(Expect, TextSaysWhatIsExpected) {
  Expect resource{.resource = "a.b/c", .capacity = 64, .allocatable = 63};
  EXPECT_EQ(resource.Text(), "a.b/c capacity 64, allocatable 63");
  Expect pod{.pod = "p", .refused = "too many"};
  EXPECT_EQ(pod.Text(), "pod p refused with 'too many'");
}

}  // namespace
}  // namespace tessera::demo
