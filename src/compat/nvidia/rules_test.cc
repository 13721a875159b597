// SPDX-License-Identifier: Apache-2.0
#include "compat/nvidia/rules.h"

#include "compat/nvidia/told_test.h"

namespace tessera::config::nvidia {
namespace {

constexpr char kTwo[] = "{resources: [{name: gpu, replicas: 2}]}";

TEST(NvidiaRules, EveryValueThatThePluginRefusesIsTold) {
  EXPECT_EQ(
      Told({.yaml = "flags:\n"
                    "  plugin:\n"
                    "    deviceListStrategy: envvar,cdi-cri\n"
                    "    deviceIDStrategy: uid\n"
                    "    sharedDevicesAllocationPolicy: spread\n"
                    "  deviceDiscoveryStrategy: wsl\n"
                    "  migStrategy: both\n"
                    "imex: {channelIDs: [2]}\n"}),
      "flags.plugin.deviceListStrategy takes 'envvar', 'volume-mounts', 'cdi-annotations' or "
      "'cdi-cri', not 'envvar,cdi-cri'\n"
      "flags.plugin.deviceIDStrategy takes 'uuid' or 'index', not 'uid'\n"
      "flags.plugin.sharedDevicesAllocationPolicy takes 'distributed' or 'packed', not 'spread'\n"
      "flags.deviceDiscoveryStrategy takes 'auto', 'nvml', 'tegra' or 'vfio', not 'wsl'\n"
      "flags.migStrategy takes 'none', 'single' or 'mixed', not 'both'\n"
      "imex.channelIDs takes [] or [0]: no other IMEX channel can be granted\n");
}

TEST(NvidiaRules, ATruthValueIsNoStrategy) {
  EXPECT_EQ(Told({.yaml = "flags: {migStrategy: off}\n"}),
            "flags.migStrategy takes 'none', 'single' or 'mixed', not 'false'\n");
}

TEST(NvidiaRules, MpsNeedsItsRootAndNoMixedMig) {
  const std::string yaml = std::string("sharing: {mps: ") + kTwo + "}\n";
  EXPECT_EQ(Told({.yaml = yaml}), "sharing.mps needs flags.mpsRoot, the directory of MPS\n");
  EXPECT_EQ(Told({.yaml = yaml, .environment = {{"MPS_ROOT", "/mps"}}}), "");
  EXPECT_EQ(Told({.yaml = yaml, .words = {"--mps-root=/mps", "--mig-strategy=mixed"}}),
            "sharing.mps cannot be combined with flags.migStrategy 'mixed': remove one of them\n");
}

TEST(NvidiaRules, NamesForModelsAreSwitchedOff) {
  const Started started{.yaml =
                            "resources:\n"
                            "  gpus: [{pattern: \"*A100*\", name: a100}]\n"
                            "  mig: [{pattern: 1g.10gb, name: small}]\n"};
  EXPECT_EQ(Warned(started),
            "resources.gpus has no effect, as in NVIDIA's plugin: whole GPUs are 'nvidia.com/gpu' "
            "whatever their model\n"
            "resources.mig has no effect, as in NVIDIA's plugin: MIG devices are named by their "
            "profile\n");
  std::string errors;
  std::string warnings;
  EXPECT_EQ(Read(started, &errors, &warnings), Settings());
}

TEST(NvidiaRules, NewNamesAndChosenDevicesAreSwitchedOff) {
  const Started started{.yaml =
                            "sharing:\n"
                            "  timeSlicing:\n"
                            "    resources:\n"
                            "    - {name: gpu, replicas: 2, rename: mine, devices: 3}\n"};
  EXPECT_EQ(Warned(started),
            "sharing.timeSlicing.resources[0].rename has no effect, as in NVIDIA's plugin: the "
            "resource is 'nvidia.com/gpu'\n"
            "sharing.timeSlicing.resources[0].devices has no effect, as in NVIDIA's plugin: all "
            "devices are replicated\n");
  std::string errors;
  std::string warnings;
  EXPECT_EQ(Read(started, &errors, &warnings),
            (Settings{.time_slicing =
                          Replication{.resources = {{.name = "nvidia.com/gpu", .replicas = 2}}}}));
}

TEST(NvidiaRules, WithRenameByDefaultTheNewNameIsAlwaysTheSame) {
  const auto renamed = [](const std::string& rename) {
    return Started{.yaml =
                       "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: gpu, "
                       "replicas: 2" +
                       rename + "}]}}\n"};
  };
  const Settings wanted{
      .time_slicing = Replication{
          .rename_by_default = true,
          .resources = {
              {.name = "nvidia.com/gpu", .rename = "nvidia.com/gpu.shared", .replicas = 2}}}};
  EXPECT_EQ(Good(renamed("")), wanted);
  EXPECT_EQ(Good(renamed(", rename: gpu.shared")), wanted);
  EXPECT_EQ(Warned(renamed(", rename: mine")),
            "sharing.timeSlicing.resources[0].rename has no effect, as in NVIDIA's plugin: the "
            "resource is 'nvidia.com/gpu.shared'\n");
}

}  // namespace
}  // namespace tessera::config::nvidia
