// SPDX-License-Identifier: Apache-2.0
#include "compat/hami/translate.h"

#include "compat/hami/told_test.h"
#include "hami/vendor.h"

namespace tessera::config::hami {
namespace {

TEST(HamiTranslate, WithoutAnyKeyItIsAsTheChartHasIt) {
  const Config config = Good({});
  ASSERT_EQ(config.resources.size(), 1u);
  const Resource& gpu = GpuOf(config);
  EXPECT_EQ(gpu.name, "nvidia.com/gpu");
  EXPECT_EQ(gpu.policy, (Policy{.division = Division::kVgpu,
                                .replicas = 10,
                                .separator = Separator::kDash,
                                .tells_numa = false}));
  EXPECT_EQ(gpu.rendering.strategies, std::vector<Strategy>{Strategy::kCdiCri});
  EXPECT_EQ(gpu.rendering.cdi_kind, "k8s.device-plugin.nvidia.com/gpu");
  NvidiaConfig::Vgpu wanted;
  wanted.on = true;
  wanted.mode = NvidiaConfig::Vgpu::Mode::kRequested;
  wanted.install = "/usr/lib/tessera/libvgpu.so";
  wanted.log_level = "1";
  wanted.pod_may_tune = true;
  wanted.may_disable_control = true;
  EXPECT_EQ(NvidiaOf(config).vgpu, wanted);
  EXPECT_EQ(NvidiaOf(config).in_mig_mode, NvidiaConfig::InMigMode::kLeftOut);
  EXPECT_EQ(gpu.rendering.fractions->requests, ::tessera::hami::kNvidia.Requests());
}

TEST(HamiTranslate, TheNamesOfResourcesAndDefaultsAreTheSites) {
  const Config config =
      Good({.yaml = "nvidia: {resourceCountName: a.io/gpu, resourceMemoryName: a.io/mem, "
                    "resourceMemoryPercentageName: a.io/percent, resourceCoreName: a.io/cores, "
                    "defaultMemory: 4096, defaultCores: 30, memoryFactor: 1024, "
                    "preConfiguredDeviceMemory: 2048, enableNumaTopology: true}\n"});
  EXPECT_EQ(GpuOf(config).name, "a.io/gpu");
  EXPECT_TRUE(GpuOf(config).policy.tells_numa);
  EXPECT_EQ(GpuOf(config).rendering.fractions->requests,
            (FractionRequests{.memory_name = "a.io/mem",
                              .percentage_name = "a.io/percent",
                              .cores_name = "a.io/cores",
                              .default_memory = 4096,
                              .default_cores = 30,
                              .memory_factor = 1024,
                              .vendor = &::tessera::hami::kNvidia}));
  EXPECT_EQ(NvidiaOf(config).memory_if_untold, 2048);
  EXPECT_EQ(Good({.yaml = "nvidia: {memoryFactor: 0}\n"}), Good({}));
}

TEST(HamiTranslate, MoreVirtualGpusThanPercentOfACardAreServed) {
  EXPECT_EQ(GpuOf(Good({.yaml = "nvidia: {deviceSplitCount: 1000}\n"})).policy.replicas, 1000);
  EXPECT_EQ(GpuOf(Good({.yaml = "nvidia: {deviceSplitCount: 1}\n"})).policy.replicas, 1);
}

TEST(HamiTranslate, APolicyOfThePodsWinsOverThePlugins) {
  const auto policy_of = [](const std::string& keys) {
    return NvidiaOf(Good({.yaml = "nvidia: {" + keys + "}\n"})).vgpu.core_policy;
  };
  EXPECT_EQ(policy_of("gpuCorePolicy: default"), "");
  EXPECT_EQ(policy_of("gpuCorePolicy: force"), "force");
  EXPECT_EQ(policy_of("gpuCorePolicy: disable"), "disable");
  EXPECT_EQ(policy_of("disableCoreLimit: true"), "disable");
  EXPECT_EQ(Told({.yaml = "nvidia: {gpuCorePolicy: force, disableCoreLimit: true}\n"}),
            "warning: nvidia.disableCoreLimit has no effect: 'gpuCorePolicy' is 'force', which "
            "HAMi's webhook writes into pods\n");
}

TEST(HamiTranslate, GpusThatAreFilteredAreLeftOutOfEveryResource) {
  const Started started = {.yaml = "nvidia: {}\nflags: {migStrategy: mixed}\n",
                           .json = R"({"nodeconfig":[{"name":"worker-1",
                  "filterdevices":{"uuid":["GPU-1"],"index":[3]}}]})"};
  const Config config = Good(started);
  ASSERT_EQ(config.resources.size(), 2u);
  const std::vector<NvidiaConfig::Selector> exclude = {{.uuid = "GPU-1"}, {.index = "3"}};
  for (const Resource& resource : config.resources) {
    EXPECT_EQ(resource.kind.As<NvidiaConfig>()->exclude, exclude) << resource.name;
  }
  EXPECT_EQ(Came(started, "resources[0].nvidia.exclude[1].index"),
            "3  # config.json, nodeconfig[0]");
}

TEST(HamiTranslate, AFilterOfTooManyGpusIsRefused) {
  std::string indices = "0";
  for (int i = 1; i < 65; ++i) indices += "," + std::to_string(i);
  const std::string told =
      Told({.yaml = "nvidia: {}\n",
            .json = R"({"nodeconfig":[{"name":"worker-1","filterdevices":{"index":[)" + indices +
                    "]}}]}"});
  EXPECT_TRUE(told.ends_with("filterdevices has 65 GPUs; it may have 64\n")) << told;
}

TEST(HamiTranslate, MigDevicesKeepTheirPlainResources) {
  const Config config = Good({.words = {"--mig-strategy=mixed"}});
  ASSERT_EQ(config.resources.size(), 2u);
  const Resource& mig = config.resources[1];
  EXPECT_EQ(mig.name, "nvidia.com/mig-{profile}");
  EXPECT_EQ(mig.policy, Policy());
  EXPECT_EQ(mig.kind.As<NvidiaConfig>()->mig, "*");
  EXPECT_EQ(mig.rendering.fractions, std::nullopt);
}

TEST(HamiTranslate, ModesThatAreNotServedAreRefused) {
  EXPECT_EQ(
      Told({.json = R"({"nodeconfig":[{"name":"worker-1","operatingmode":"mig"}]})"}),
      "nvidia.operatingMode is 'mig', but Tessera makes no MIG devices on demand; divide the GPUs "
      "beforehand and set '--mig-strategy=mixed', or set 'hami-core' for virtual GPUs\n");
  EXPECT_EQ(Told({.json = R"({"nodeconfig":[{"name":"worker-1","operatingmode":"mps"}]})"}),
            "warning: nvidia.operatingMode is 'mps', which has no effect, as in HAMi's plugin: "
            "virtual GPUs are made as by 'hami-core'\n");
  EXPECT_EQ(Told({.words = {"--mig-strategy=single"}}),
            "flags.migStrategy is 'single', which would give MIG devices the name of virtual GPUs: "
            "set 'mixed', which names them by their profile, or 'none'\n");
}

std::vector<Strategy> StrategiesOf(const std::string& list, bool has_cdi) {
  const Started started{
      .environment = {{"DEVICE_LIST_STRATEGY", list}, {"PASS_DEVICE_SPECS", "true"}},
      .has_cdi = has_cdi};
  return GpuOf(started.Load().config).rendering.strategies;
}

TEST(HamiTranslate, CdiTakesThePlaceOfAllElseWhereTheRuntimeHasIt) {
  EXPECT_EQ(StrategiesOf("envvar", true), std::vector<Strategy>{Strategy::kCdiCri});
  EXPECT_EQ(StrategiesOf("envvar,cdi-annotations", true),
            std::vector<Strategy>{Strategy::kCdiAnnotations});
  EXPECT_EQ(Came({}, "resources[0].strategies"), "cdi-cri  # containerd://2.2.0");
}

TEST(HamiTranslate, WhereTheRuntimeHasNoCdiItIsAsWithHamisPluginUnlessCdiIsNamed) {
  EXPECT_EQ(StrategiesOf("envvar", false),
            (std::vector<Strategy>{Strategy::kEnvvar, Strategy::kDeviceSpecs}));
  EXPECT_EQ(StrategiesOf("envvar,cdi-annotations", false),
            std::vector<Strategy>{Strategy::kCdiAnnotations});
  const LoadResult loaded = Started{.has_cdi = false}.Load();
  EXPECT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.undecided, std::vector<size_t>{0});
  EXPECT_TRUE(NeedsMatch(GpuOf(loaded.config).rendering));
  EXPECT_EQ(Told({.has_cdi = false}),
            "warning: flags.plugin.deviceListStrategy has 'envvar', which lets a pod without a "
            "grant use GPUs: docs/explain/security.md says how to prevent that\n");
}

TEST(HamiTranslate, WhatNvidiasPluginIsToldHoldsAsWell) {
  const Config config = Good({.yaml = "version: v1\n"
                                      "nvidia: {}\n"
                                      "flags: {nvidiaDriverRoot: /run/nvidia/driver}\n"
                                      "imex: {channelIDs: [0]}\n",
                              .words = {"--gds-enabled", "--container-driver-root=/inside"}});
  EXPECT_EQ(NvidiaOf(config).driver_root, "/inside");
  EXPECT_EQ(NvidiaOf(config).host_driver_root, "/run/nvidia/driver");
  EXPECT_EQ(NvidiaOf(config).features,
            std::vector<tessera::nvidia::Feature>{tessera::nvidia::Feature::kGds});
  EXPECT_EQ(NvidiaOf(config).imex, tessera::nvidia::Imex::kOptional);
}

TEST(HamiTranslate, SharesOfVirtualGpusAreNotSharedAgain) {
  EXPECT_EQ(Told({.yaml = "nvidia: {}\n"
                          "flags: {mpsRoot: /mps}\n"
                          "sharing:\n"
                          "  mps: {resources: [{name: nvidia.com/gpu, replicas: 2}]}\n"
                          "  timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}\n"}),
            "warning: sharing.mps has no effect: GPUs are divided into virtual ones\n"
            "warning: sharing.timeSlicing has no effect on nvidia.com/gpu: GPUs are divided into "
            "virtual ones\n");
}

}  // namespace
}  // namespace tessera::config::hami
