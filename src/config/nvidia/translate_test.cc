// SPDX-License-Identifier: Apache-2.0
#include "config/nvidia/translate.h"

#include <fmt/core.h>

#include "backend/nvidia/nvidia_config.h"
#include "config/nvidia/told_test.h"
#include "config/print.h"

namespace tessera::config::nvidia {
namespace {

constexpr auto kWhole = NvidiaConfig::InMigMode::kWhole;

// What the plugin's defaults amount to.
Config Usual() {
  Config config;
  Resource& resource = config.resources.emplace_back();
  resource.name = "nvidia.com/gpu";
  resource.rendering.strategies = {Strategy::kEnvvar};
  resource.rendering.env = "NVIDIA_VISIBLE_DEVICES";
  resource.rendering.mount_list_dir = "/var/run/nvidia-container-devices";
  resource.kind =
      KindConfig::Of(NvidiaConfig{.driver_root = "/driver-root", .in_mig_mode = kWhole});
  return config;
}

LoadResult GoodLoad(const Started& started) {
  LoadResult result = Load(started.From());
  EXPECT_EQ(Text(result.errors), "");
  return result;
}

std::string ErrorsOf(const Started& started) {
  return Messages(Load(started.From()).errors);
}

TEST(NvidiaTranslation, AnEmptyFileServesWholeGpus) {
  EXPECT_EQ(GoodLoad({}).config, Usual());
}

TEST(NvidiaTranslation, TheDiscoveryStrategyIsTakenOver) {
  for (const auto& [word, discovery] : {std::pair("auto", NvidiaConfig::Discovery::kAuto),
                                        std::pair("nvml", NvidiaConfig::Discovery::kNvml),
                                        std::pair("tegra", NvidiaConfig::Discovery::kTegra)}) {
    Config wanted = Usual();
    wanted.resources[0].kind = KindConfig::Of(
        NvidiaConfig{.driver_root = "/driver-root", .discovery = discovery, .in_mig_mode = kWhole});
    const std::string flag = std::string("--device-discovery-strategy=") + word;
    EXPECT_EQ(GoodLoad({.words = {flag}}).config, wanted) << word;
  }
}

TEST(NvidiaTranslation, VolumeMountsAreWhatNvidiasToolkitReads) {
  Config wanted = Usual();
  wanted.resources[0].rendering.strategies = {Strategy::kEnvvar, Strategy::kVolumeMounts};
  EXPECT_EQ(GoodLoad({.words = {"--device-list-strategy=envvar,volume-mounts"}}).config, wanted);
}

TEST(NvidiaTranslation, TimeSlicingIsReplicas) {
  Config wanted = Usual();
  wanted.resources[0].policy = {Division::kReplicas, 10};
  EXPECT_EQ(GoodLoad({.yaml = "version: v1\n"
                              "sharing:\n"
                              "  timeSlicing:\n"
                              "    resources:\n"
                              "    - name: nvidia.com/gpu\n"
                              "      replicas: 10\n"})
                .config,
            wanted);
}

TEST(NvidiaTranslation, RenamedSharesHaveTheirOwnName) {
  Config wanted = Usual();
  wanted.resources[0].name = "nvidia.com/gpu.shared";
  wanted.resources[0].policy = {Division::kReplicas, 4};
  EXPECT_EQ(
      GoodLoad({.yaml = "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: gpu, "
                        "replicas: 4}]}}\n"})
          .config,
      wanted);
}

TEST(NvidiaTranslation, PlacesStrategiesAndPlacementAreTakenOver) {
  Config wanted = Usual();
  wanted.kubelet.root = "/data/kubelet";
  wanted.resources[0].placement = Placement::kPack;
  wanted.resources[0].rendering.strategies = {Strategy::kEnvvar, Strategy::kDeviceSpecs};
  wanted.resources[0].kind = KindConfig::Of(
      NvidiaConfig{.driver_root = "/inside", .dev_root = "/dev-root", .in_mig_mode = kWhole});
  EXPECT_EQ(GoodLoad({.words = {"--kubelet-socket=/data/kubelet/device-plugins/kubelet.sock",
                                "--shared-devices-allocation-policy=packed", "--pass-device-specs",
                                "--driver-root-ctr-path=/inside", "--driver-root=/driver",
                                "--dev-root=/dev-root"}})
                .config,
            wanted);
}

TEST(NvidiaTranslation, WithoutADevRootTheNodesAreBelowTheDriversRoot) {
  Config wanted = Usual();
  wanted.resources[0].kind = KindConfig::Of(
      NvidiaConfig{.driver_root = "/", .dev_root = "/run/nvidia/driver", .in_mig_mode = kWhole});
  EXPECT_EQ(
      GoodLoad({.yaml = "flags: {nvidiaDriverRoot: /run/nvidia/driver, nvidiaDevRoot: \"\"}\n",
                .environment = {{"CONTAINER_DRIVER_ROOT", ""}}})
          .config,
      wanted);
}

TEST(NvidiaTranslation, FlagsOverrideVariablesWhichOverrideTheFile) {
  const std::string yaml = "flags: {plugin: {containerDriverRoot: /file}}\n";
  const std::map<std::string, std::string> environment = {{"DRIVER_ROOT_CTR_PATH", "/variable"}};
  const auto from = [](const LoadResult& result) {
    return std::pair(result.config.resources[0].kind.As<NvidiaConfig>()->driver_root,
                     result.SourceOf("resources[0].nvidia.driverRoot"));
  };
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(from(GoodLoad({})), Pair("/driver-root", "NVIDIA's default"));
  EXPECT_EQ(from(GoodLoad({.yaml = yaml})), Pair("/file", "t.yaml:1"));
  EXPECT_EQ(from(GoodLoad({.yaml = yaml, .environment = environment})),
            Pair("/variable", "environment DRIVER_ROOT_CTR_PATH"));
  EXPECT_EQ(
      from(GoodLoad(
          {.yaml = yaml, .environment = environment, .words = {"--container-driver-root=/flag"}})),
      Pair("/flag", "flag --driver-root-ctr-path"));
}

TEST(NvidiaTranslation, OurOwnVariablesAndFlagsComeOnTop) {
  Sources sources = Started{}.From();
  sources.own_environment = {{"TESSERA_STATE_DIR", "/a"}, {"TESSERA_HTTP_ADDRESS", "off"}};
  sources.own_flags = {{"state-dir", "/b"}};
  const LoadResult result = Load(sources);
  EXPECT_EQ(Text(result.errors), "");
  EXPECT_EQ(result.config.state_dir, "/b");
  EXPECT_EQ(result.config.http_address, "off");
}

TEST(NvidiaTranslation, AShareOfAnotherResourceIsWarnedAbout) {
  const LoadResult result = GoodLoad(
      {.yaml = "sharing: {timeSlicing: {resources: [{name: mig-1g.10gb, replicas: 4}]}}\n"});
  EXPECT_EQ(result.config, Usual());
  EXPECT_EQ(Messages(result.warnings),
            "sharing.timeSlicing.resources[0].name 'nvidia.com/mig-1g.10gb' is no resource of this "
            "node and has no effect; there is 'nvidia.com/gpu'\n");
}

TEST(NvidiaTranslation, SingleIsMigDevicesInThePlaceOfGpus) {
  Config wanted = Usual();
  wanted.resources[0].kind.As<NvidiaConfig>()->in_mig_mode = NvidiaConfig::InMigMode::kDevices;
  EXPECT_EQ(GoodLoad({.words = {"--mig-strategy=single"}}).config, wanted);
}

std::string NamesAndPolicies(const LoadResult& result) {
  std::string text;
  for (const Resource& resource : result.config.resources) {
    const auto& kind = *resource.kind.As<NvidiaConfig>();
    EXPECT_EQ(kind.in_mig_mode, NvidiaConfig::InMigMode::kLeftOut);
    EXPECT_EQ(kind.driver_root, "/driver-root");
    EXPECT_EQ(resource.rendering.strategies, std::vector<Strategy>{Strategy::kEnvvar});
    text += fmt::format("{} mig='{}' {}\n", resource.name, kind.mig, resource.policy.replicas);
  }
  return text;
}

TEST(NvidiaTranslation, MixedIsWholeGpusAndAFamily) {
  EXPECT_EQ(NamesAndPolicies(GoodLoad({.words = {"--mig-strategy=mixed"}})),
            "nvidia.com/gpu mig='' 1\n"
            "nvidia.com/mig-{profile} mig='*' 1\n");
}

TEST(NvidiaTranslation, SharesOfProfilesAreNarrowerFamilies) {
  const std::string resources =
      "resources: [{name: gpu, replicas: 2}, {name: mig-1g.10gb.me, replicas: 4}]";
  const std::string mixed = "flags: {migStrategy: mixed}\n";
  EXPECT_EQ(
      NamesAndPolicies(GoodLoad({.yaml = mixed + "sharing: {timeSlicing: {" + resources + "}}\n"})),
      "nvidia.com/gpu mig='' 2\n"
      "nvidia.com/mig-{profile} mig='1g.10gb.me' 4\n"
      "nvidia.com/mig-{profile} mig='*' 1\n");
  EXPECT_EQ(
      NamesAndPolicies(GoodLoad({.yaml = mixed + "sharing: {timeSlicing: {renameByDefault: true, " +
                                         resources + "}}\n"})),
      "nvidia.com/gpu.shared mig='' 2\n"
      "nvidia.com/mig-{profile}.shared mig='1g.10gb.me' 4\n"
      "nvidia.com/mig-{profile} mig='*' 1\n");
}

TEST(NvidiaTranslation, WhatHasNoCounterpartIsTold) {
  EXPECT_EQ(
      ErrorsOf({.words = {"--kubelet-socket=/run/kubelet.sock"}}),
      "kubelet-socket is '/run/kubelet.sock': it must be DIRECTORY/device-plugins/kubelet.sock, "
      "where DIRECTORY is kubelet's\n");
  EXPECT_EQ(ErrorsOf({.words = {"--driver-root=driver", "--driver-root-ctr-path=x"}}),
            "flags.plugin.containerDriverRoot must be an absolute path, not 'x'\n"
            "flags.nvidiaDriverRoot must be an absolute path, not 'driver'\n");
  EXPECT_EQ(
      ErrorsOf({.yaml = "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}, {name: "
                        "gpu, replicas: 4}]}}\n"}),
      "sharing.timeSlicing.resources[1].name 'nvidia.com/gpu' stands here a second time: name "
      "it once\n");
  EXPECT_EQ(
      ErrorsOf({.yaml = "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 10001}]}}\n"}),
      "sharing.timeSlicing.resources[0].replicas is 10001; at most 10000 are served\n");
  EXPECT_EQ(ErrorsOf({.yaml = "flags: {plugin: {deviceListStrategy: []}}\n"}),
            "resources[0].strategies must name at least one: containers would get nothing\n");
}

TEST(NvidiaTranslation, WhatIsPrintedIsTheSameConfiguration) {
  const LoadResult result =
      GoodLoad({.yaml = "flags: {migStrategy: mixed, plugin: {passDeviceSpecs: yes}}\n"
                        "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 10}, "
                        "{name: mig-1g.10gb, replicas: 4}]}}\n"});
  const LoadResult again = config::Load({.file = Document::Parse("ours.yaml", PrintYaml(result))});
  EXPECT_EQ(Text(again.errors), "");
  EXPECT_EQ(again.config, result.config);
}

}  // namespace
}  // namespace tessera::config::nvidia
