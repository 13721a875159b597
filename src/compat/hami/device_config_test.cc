// SPDX-License-Identifier: Apache-2.0
#include "compat/hami/device_config.h"

#include "compat/hami/told_test.h"

namespace tessera::config::hami {
namespace {

Settings Read(const std::string& yaml, std::string* told = nullptr) {
  const Document document = Document::Parse("t.yaml", yaml);
  Findings findings(document);
  Settings settings;
  ReadDeviceConfig(document, settings, findings);
  const std::string text = Text(findings.SortedErrors()) + Text(findings.warnings());
  if (told == nullptr) {
    EXPECT_EQ(text, "");
  } else {
    *told = text;
  }
  return settings;
}

TEST(HamiDeviceConfig, EveryKeyOfTheChartIsRead) {
  // As the chart renders it, with other values.
  const Settings settings = Read(R"(nvidia:
  resourceCountName: a.io/gpu
  resourceMemoryName: a.io/mem
  resourceMemoryPercentageName: a.io/percent
  resourceCoreName: a.io/cores
  resourcePriorityName: a.io/priority
  overwriteEnv: false
  defaultMemory: 4096
  defaultCores: 30
  defaultGPUNum: 1
  memoryFactor: 1024
  deviceSplitCount: 7
  deviceMemoryScaling: 1.8
  deviceCoreScaling: 2
  preConfiguredDeviceMemory: 122880
  runtimeClassName: ""
  libCudaLogLevel: 3
  enableNumaTopology: true
  disableCoreLimit: yes
  gpuCorePolicy: force
  migProfileAllowlist:
  - models: ["A30"]
    profiles: ["1g.6gb"]
cambricon:
  resourceCountName: cambricon.com/vmlu
vnpus:
- chipName: 910A
)");
  Settings wanted;
  wanted.count_name = "a.io/gpu";
  wanted.memory_name = "a.io/mem";
  wanted.percentage_name = "a.io/percent";
  wanted.cores_name = "a.io/cores";
  wanted.default_memory = 4096;
  wanted.default_cores = 30;
  wanted.memory_factor = 1024;
  wanted.split_count = 7;
  wanted.memory_scaling = 1.8;
  wanted.core_scaling = 2;
  wanted.preconfigured_memory = 122880;
  wanted.log_level = "3";
  wanted.numa_topology = true;
  wanted.disable_core_limit = true;
  wanted.core_policy = "force";
  EXPECT_EQ(settings, wanted);
}

TEST(HamiDeviceConfig, WhatIsMissingOrEmptyIsTheChartsDefault) {
  EXPECT_EQ(Read("nvidia:\n"), Settings());
  EXPECT_EQ(Read("nvidia: {}\n"), Settings());
  EXPECT_EQ(
      Read("nvidia:\n  deviceSplitCount:\n  libCudaLogLevel: \"\"\n  resourceCountName: ''\n"),
      Settings());
}

TEST(HamiDeviceConfig, AValueOfAnotherTypeIsToldWithItsLine) {
  std::string told;
  EXPECT_EQ(Read("nvidia:\n"
                 "  deviceSplitCount: \"7\"\n"
                 "  libCudaLogLevel: [1]\n",
                 &told),
            Settings());
  EXPECT_EQ(told,
            "t.yaml:2:21: nvidia.deviceSplitCount takes a number, not the text '7' "
            "[config-wrong-type]\n"
            "  deviceSplitCount: \"7\"\n"
            "                    ^\n"
            "t.yaml:3:20: nvidia.libCudaLogLevel takes text, not a list [config-wrong-type]\n"
            "  libCudaLogLevel: [1]\n"
            "                   ^\n");
}

// HAMi's plugin starts with each of them.
TEST(HamiDeviceConfig, AValueOutOfRangeHasNoEffectAndIsTold) {
  struct Row {
    const char* said;
    const char* told;
  };
  const Row rows[] = {
      {"deviceSplitCount: 0", "takes a whole number from 1 to 2147483647, not '0'"},
      {"deviceSplitCount: 1.5", "takes a whole number from 1 to 2147483647, not '1.5'"},
      {"deviceMemoryScaling: 0", "takes a number above 0 and up to 100, not '0'"},
      {"deviceMemoryScaling: -1", "takes a number above 0 and up to 100, not '-1'"},
      {"deviceCoreScaling: 1e9", "takes a number above 0 and up to 100, not '1e9'"},
      {"defaultCores: 101", "takes a whole number from 0 to 100, not '101'"},
      {"defaultMemory: -1", "takes a whole number from 0 to 100000000, not '-1'"},
      {"memoryFactor: -1", "takes a whole number from 0 to 1048576, not '-1'"},
      {"preConfiguredDeviceMemory: -1", "takes a whole number from 0 to 100000000, not '-1'"},
      {"libCudaLogLevel: debug", "takes a digit, not 'debug'"},
      {"gpuCorePolicy: on", "takes 'default', 'force' or 'disable', not 'on'"},
  };
  for (const Row& row : rows) {
    const std::string said = row.said;
    std::string told;
    EXPECT_EQ(Read("nvidia:\n  " + said + "\n", &told), Settings()) << said;
    const std::string key = said.substr(0, said.find(':'));
    EXPECT_TRUE(told.starts_with("t.yaml:2:" + std::to_string(key.size() + 5) + ": nvidia." + key +
                                 " " + row.told + "; this has no effect [config-bad-value]\n"))
        << told;
  }
}

TEST(HamiDeviceConfig, ANumberMayHaveAFractionOfNothing) {
  Settings wanted;
  wanted.split_count = 7;
  EXPECT_EQ(Read("nvidia: {deviceSplitCount: 7.0}\n"), wanted);
}

TEST(HamiDeviceConfig, AKeyThatLooksMistypedIsTold) {
  std::string told;
  Read("nvidia:\n  devicesSplitCount: 7\n  someThingElse: 8\n", &told);
  EXPECT_EQ(told,
            "t.yaml:2:3: unknown key 'devicesSplitCount' in nvidia has no effect; did you mean "
            "'deviceSplitCount'? [config-unknown-key]\n"
            "  devicesSplitCount: 7\n"
            "  ^\n");
}

}  // namespace
}  // namespace tessera::config::hami
