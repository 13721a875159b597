// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/device_config.h"

#include "scheduler/settings/settings_under_test.h"

namespace tessera::scheduler {
namespace {

TEST(SchedulerDeviceConfig, EveryKeyOfTheSchedulersIsRead) {
  Settings wanted;
  wanted.lease_name = "hami-scheduler";
  wanted.count_name = "a.io/n";
  wanted.memory_name = "a.io/m";
  wanted.percentage_name = "a.io/p";
  wanted.cores_name = "a.io/c";
  wanted.priority_name = "a.io/r";
  wanted.default_count = 2;
  wanted.default_memory = 1'000'000;
  wanted.default_cores = 30;
  wanted.memory_factor = 10;
  wanted.runtime_class = "nvidia";
  wanted.core_policy = "force";
  wanted.hides_devices = true;
  EXPECT_EQ(Good({.hami = "nvidia: {resourceCountName: a.io/n, resourceMemoryName: a.io/m, "
                          "resourceMemoryPercentageName: a.io/p, resourceCoreName: a.io/c, "
                          "resourcePriorityName: a.io/r, defaultGPUNum: 2, defaultMemory: 1e+06, "
                          "defaultCores: 30, memoryFactor: 10.0, runtimeClassName: nvidia, "
                          "gpuCorePolicy: force, overwriteEnv: yes, deviceSplitCount: 10}\n"}),
            wanted);
}

TEST(SchedulerDeviceConfig, AKeyWithNothingBehindItSaysNothing) {
  Settings wanted;
  wanted.lease_name = "hami-scheduler";
  EXPECT_EQ(Good({.hami = "nvidia:\n  runtimeClassName: \"\"\n  defaultMemory:\n"}), wanted);
}

TEST(SchedulerDeviceConfig, AValueOutOfRangeHasNoEffectAndIsTold) {
  const Loaded loaded = LoadGiven({.hami = "nvidia:\n  defaultCores: 101\n"});
  EXPECT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.settings.default_cores, 0);
  EXPECT_EQ(config::Text(loaded.warnings),
            "h.yaml:2:17: nvidia.defaultCores takes a whole number from 0 to 100, not '101'; this "
            "has no effect [config-bad-value]\n  defaultCores: 101\n                ^\n");
}

TEST(SchedulerDeviceConfig, AValueOfAnotherTypeIsAnError) {
  EXPECT_EQ(ToldOf({.hami = "nvidia:\n  defaultCores: \"30\"\n"}),
            "h.yaml:2:17: nvidia.defaultCores takes a number, not the text '30' "
            "[config-wrong-type]\n  defaultCores: \"30\"\n                ^\n");
}

TEST(SchedulerDeviceConfig, AMistypedKeyIsTold) {
  const Loaded loaded = LoadGiven({.hami = "nvdia: {}\nnvidia:\n  defaultMemry: 1\n  other: 2\n"});
  EXPECT_TRUE(loaded.notes.empty());
  EXPECT_EQ(config::Text(loaded.warnings),
            "h.yaml:1:1: unknown key 'nvdia' has no effect; did you mean 'nvidia'? "
            "[config-unknown-key]\nnvdia: {}\n^\n"
            "h.yaml:3:3: unknown key 'defaultMemry' in nvidia has no effect; did you mean "
            "'defaultMemory'? [config-unknown-key]\n  defaultMemry: 1\n  ^\n");
}

}  // namespace
}  // namespace tessera::scheduler
