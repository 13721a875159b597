// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/scenario.h"

#include <gtest/gtest.h>

#include "sim/demo/demo.h"
#include "sim/demo/frame.h"
#include "sim/demo/scenarios_for_test.h"

namespace tessera::demo {
namespace {

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
  EXPECT_EQ(names,
            (std::vector<std::string_view>{
                "default", "amd-partitions", "amd", "ascend", "flapping-devices", "gpus-and-nics",
                "nvidia-mig", "nvidia-wsl", "nvidia", "restart-storm", "rolling-update", "vgpu"}));
}

TEST(Scenario, HowGpusAreDividedIsReadFromTheConfiguration) {
  const AgentConfig config = Parse(R"(config: |
  version: tessera/v1
  resources:
    - name: nvidia.com/gpu
      policy: vgpu
      replicas: 10
      strategies: [envvar, cdi-cri]
      cdi: {kind: nvidia.com/gpu, dir: /cdi}
      nvidia: {vgpu: {library: /lib/libvgpu.so}}
steps: [{say: a}]
)")
                                 .scenario.config;
  ASSERT_TRUE(config.vgpus.contains("nvidia.com/gpu"));
  EXPECT_EQ(config.vgpus.at("nvidia.com/gpu").division.parts, 10);
  EXPECT_EQ(config.vgpus.at("nvidia.com/gpu").division.library, "/lib/libvgpu.so");
  EXPECT_EQ(config.vgpus.at("nvidia.com/gpu").cdi_dir, "/cdi");
  EXPECT_EQ(config.envs.at("nvidia.com/gpu"), "");
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

TEST(Scenario, ProblemInTheAgentsConfigurationHasItsLineInTheScenario) {
  const ReadScenario read = Parse(
      "config: |\n"
      "  version: tessera/v1\n"
      "  resources:\n"
      "    - name: dummy.com/npu\n"
      "      dumy: {count: 4}\n"
      "steps:\n"
      "  - say: a\n");
  EXPECT_EQ(
      ProblemsOf(read),
      Lines({"4: config: resources[0] needs one section of 'dummy', 'files', 'nvidia', 'amd', "
             "'ascend', 'rdma', 'fpga' or 'pair'",
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
