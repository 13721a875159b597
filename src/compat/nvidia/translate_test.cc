// SPDX-License-Identifier: Apache-2.0
#include "compat/nvidia/translate.h"

#include <fmt/core.h>

#include "backend/nvidia/core/nvidia_config.h"
#include "compat/nvidia/told_test.h"
#include "config/print.h"
#include "kinds/kinds.h"

namespace tessera::config::nvidia {
namespace {

constexpr auto kWhole = NvidiaConfig::InMigMode::kWhole;
using tessera::nvidia::Feature;
using tessera::nvidia::IdStrategy;
using tessera::nvidia::Imex;
using tessera::nvidia::OtherXids;
using tessera::nvidia::XidClass;

// The result of the plugin's defaults.
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

const std::string kOpenDoor =
    "flags.plugin.deviceListStrategy has 'envvar', which lets a pod without a grant use GPUs: "
    "docs/explain/security.md says how to prevent that\n";

LoadResult GoodLoad(const Started& started) {
  LoadResult result = Load(FullSchema(), started.From());
  EXPECT_EQ(Text(result.errors), "");
  return result;
}

std::string ErrorsOfStart(const Started& started) {
  return Messages(Load(FullSchema(), started.From()).errors);
}

TEST(NvidiaTranslation, AnEmptyFileServesWholeGpus) {
  EXPECT_EQ(GoodLoad({}).config, Usual());
}

TEST(NvidiaTranslation, WhatGpuFeatureDiscoveryIsToldSaysHowToLabel) {
  Config wanted = Usual();
  wanted.labels.file = "/out";
  wanted.labels.machine_type_file = "/machine";
  wanted.labels.sleep_interval = Duration(90'000);
  wanted.labels.timestamp = false;
  EXPECT_EQ(GoodLoad({.yaml = "flags: {gfd: {noTimestamp: true, sleepInterval: 1m30s, "
                              "outputFile: /out, machineTypeFile: /machine}}"})
                .config,
            wanted);
  wanted.api.kubeconfig = "/kubeconfig";
  const LoadResult told = GoodLoad(
      {.environment = {{"GFD_NO_TIMESTAMP", "true"}, {"GFD_SLEEP_INTERVAL", "1m30s"}},
       .words = {"--output=/out", "--machine-type-file=/machine", "--kubeconfig=/kubeconfig"}});
  EXPECT_EQ(told.config, wanted);

  // The interval stays within our limits. An unusable path refuses no file.
  wanted = Usual();
  wanted.labels.sleep_interval = Duration(86'400'000);
  EXPECT_EQ(GoodLoad({.yaml = "flags: {gfd: {sleepInterval: infinite, outputFile: out}}"}).config,
            wanted);
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

TEST(NvidiaTranslation, VfioIsOfLabelsAloneAndNeedsNoDriver) {
  Config wanted = Usual();
  wanted.labels.gpus = LabelledGpus::kVfio;
  EXPECT_EQ(GoodLoad({.environment = {{"DEVICE_DISCOVERY_STRATEGY", "vfio"},
                                      {"FAIL_ON_INIT_ERROR", "true"}}})
                .config,
            wanted);
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

// The result of `sharing.mps` for this name.
Config SharedByMps(const std::string& name) {
  Config config = Usual();
  Resource& resource = config.resources[0];
  resource.name = name;
  resource.policy = {Division::kMps, 4};
  resource.rendering.one_per_container = true;
  resource.rendering.envs = {{"CUDA_MPS_PIPE_DIRECTORY", "/mps/" + name + "/pipe"}};
  resource.rendering.mounts = {
      {"/run/nvidia/mps/" + name + "/pipe", "/mps/" + name + "/pipe", true},
      {"/run/nvidia/mps/shm", "/dev/shm", false}};
  resource.kind.As<NvidiaConfig>()->mps = {
      .on = true, .root = "/run/nvidia/mps", .container_root = "/mps"};
  return config;
}

TEST(NvidiaTranslation, MpsHasItsFilesWhereThePluginLooksForThem) {
  const std::map<std::string, std::string> root = {{"MPS_ROOT", "/run/nvidia/mps"}};
  EXPECT_EQ(GoodLoad({.yaml = "sharing: {mps: {resources: [{name: gpu, replicas: 4}]}}\n",
                      .environment = root})
                .config,
            SharedByMps("nvidia.com/gpu"));
  EXPECT_EQ(GoodLoad({.yaml = "sharing: {mps: {renameByDefault: true, resources: [{name: gpu, "
                              "replicas: 4}]}}\n",
                      .environment = root})
                .config,
            SharedByMps("nvidia.com/gpu.shared"));
  Config several = SharedByMps("nvidia.com/gpu");
  several.resources[0].rendering.one_per_container = false;
  EXPECT_EQ(GoodLoad({.yaml = "sharing: {mps: {failRequestsGreaterThanOne: false, resources: "
                              "[{name: gpu, replicas: 4}]}}\n",
                      .environment = root})
                .config,
            several);
}

TEST(NvidiaTranslation, MpsRulesTimeSlicingOut) {
  const LoadResult result =
      GoodLoad({.yaml = "sharing:\n"
                        "  timeSlicing: {resources: [{name: gpu, replicas: 9}]}\n"
                        "  mps: {resources: [{name: gpu, replicas: 4}]}\n",
                .environment = {{"MPS_ROOT", "/run/nvidia/mps"}}});
  EXPECT_EQ(result.config, SharedByMps("nvidia.com/gpu"));
  EXPECT_NE(
      Messages(result.warnings)
          .find("sharing.timeSlicing has no effect with sharing.mps, as in NVIDIA's plugin\n"),
      std::string::npos);
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
  const LoadResult result = Load(FullSchema(), sources);
  EXPECT_EQ(Text(result.errors), "");
  EXPECT_EQ(result.config.state_dir, "/b");
  EXPECT_EQ(result.config.http_address, "off");
}

TEST(NvidiaTranslation, WhatEnvvarLeavesOpenIsToldAtStart) {
  EXPECT_EQ(Text(GoodLoad({}).warnings),
            "NVIDIA's default: " + kOpenDoor.substr(0, kOpenDoor.size() - 1) + " [config-open]\n");
  EXPECT_EQ(Messages(GoodLoad({.words = {"--device-list-strategy=envvar"}}).warnings), kOpenDoor);
  EXPECT_EQ(Messages(GoodLoad({.words = {"--device-list-strategy=volume-mounts,envvar"}}).warnings),
            "");
}

TEST(NvidiaTranslation, DevicesAreNamedByIndexInADocumentOfNvidiasKind) {
  Config wanted = Usual();
  Rendering& rendering = wanted.resources[0].rendering;
  rendering.strategies = {Strategy::kCdiAnnotations, Strategy::kCdiCri, Strategy::kDeviceSpecs};
  rendering.cdi_kind = "k8s.device-plugin.nvidia.com/gpu";
  rendering.cdi_visible_names = true;
  rendering.cdi_annotation_prefix = "my.org/nvidia-device-plugin_";
  wanted.resources[0].kind =
      KindConfig::Of(NvidiaConfig{.driver_root = "/driver-root",
                                  .host_driver_root = "/run/nvidia/driver",
                                  .dev_root = "/run/nvidia/driver",
                                  .in_mig_mode = kWhole,
                                  .id_strategy = IdStrategy::kIndex,
                                  .cdi_vendor = "k8s.device-plugin.nvidia.com"});
  const LoadResult result =
      GoodLoad({.environment = {{"DEVICE_LIST_STRATEGY", "cdi-annotations,cdi-cri"},
                                {"DEVICE_ID_STRATEGY", "index"},
                                {"CDI_ANNOTATION_PREFIX", "my.org/"},
                                {"NVIDIA_DRIVER_ROOT", "/run/nvidia/driver"},
                                {"PASS_DEVICE_SPECS", "true"}}});
  EXPECT_EQ(result.config, wanted);
  EXPECT_EQ(Messages(result.warnings), "");
}

TEST(NvidiaTranslation, WhatIsAboutTheCdiDocumentIsDone) {
  const LoadResult result =
      GoodLoad({.environment = {{"DEVICE_LIST_STRATEGY", "cdi-cri"},
                                {"NVIDIA_CDI_HOOK_PATH", "/opt/nvidia-cdi-hook"},
                                {"CDI_DISABLE_HOOKS", "update-ldcache,chmod"},
                                {"CDI_FEATURE_FLAGS",
                                 "disable-ipc-discoverer,disable-nvsandboxutils,a-new-one"}}});
  const auto& kind = *result.config.resources[0].kind.As<NvidiaConfig>();
  EXPECT_EQ(kind.cdi_hook_path, "/opt/nvidia-cdi-hook");
  EXPECT_EQ(kind.cdi_leave_out, (std::vector{tessera::nvidia::CdiPiece::kUpdateLdcache,
                                             tessera::nvidia::CdiPiece::kIpcSockets}));
  EXPECT_EQ(Messages(result.warnings), "cdi-feature-flags has 'a-new-one', which has no effect\n");
}

TEST(NvidiaTranslation, AHookThatNobodyNamedIsLookedFor) {
  const LoadResult result = GoodLoad({.environment = {{"DEVICE_LIST_STRATEGY", "cdi-cri"}}});
  EXPECT_EQ(result.config.resources[0].kind.As<NvidiaConfig>()->cdi_hook_path, "");
}

TEST(NvidiaTranslation, ExtrasAreSwitchedOnAndNamedByCdi) {
  Config wanted = Usual();
  Rendering& rendering = wanted.resources[0].rendering;
  rendering.extras = {{"NVIDIA_GDRCOPY", ""}, {"NVIDIA_GDS", ""}, {"NVIDIA_MOFED", ""}};
  rendering.channels = {{.node = "/dev/nvidia-caps-imex-channels/channel0",
                         .name = "0",
                         .env = "NVIDIA_IMEX_CHANNELS",
                         .mount = "imex",
                         .cdi_device = ""}};
  wanted.resources[0].kind =
      KindConfig::Of(NvidiaConfig{.driver_root = "/driver-root",
                                  .in_mig_mode = kWhole,
                                  .features = {Feature::kGdrcopy, Feature::kGds, Feature::kMofed},
                                  .imex = Imex::kRequired});
  const Started started = {.yaml =
                               "flags: {gdsEnabled: true, mofedEnabled: true}\n"
                               "imex: {channelIDs: [0], required: true}\n",
                           .environment = {{"GDRCOPY_ENABLED", "1"}}};
  EXPECT_EQ(GoodLoad(started).config, wanted);

  rendering.extras = {{"NVIDIA_GDRCOPY", "k8s.device-plugin.nvidia.com/gdrcopy=all"},
                      {"NVIDIA_GDS", "k8s.device-plugin.nvidia.com/gds=all"},
                      {"NVIDIA_MOFED", "k8s.device-plugin.nvidia.com/mofed=all"}};
  rendering.channels[0].cdi_device = "k8s.device-plugin.nvidia.com/imex-channel=0";
  Started by_cdi = started;
  by_cdi.words = {"--device-list-strategy=cdi-cri"};
  EXPECT_EQ(GoodLoad(by_cdi).config.resources[0].rendering.extras, rendering.extras);
  EXPECT_EQ(GoodLoad(by_cdi).config.resources[0].rendering.channels, rendering.channels);
}

const NvidiaConfig& NvidiaConfigOf(const LoadResult& result) {
  return *result.config.resources[0].kind.As<NvidiaConfig>();
}

TEST(NvidiaTranslation, TheAgentEndsWithoutADriverOnlyWhereSomebodyWroteIt) {
  EXPECT_FALSE(NvidiaConfigOf(GoodLoad({})).fail_on_init_error);
  EXPECT_TRUE(
      NvidiaConfigOf(GoodLoad({.yaml = "flags: {failOnInitError: true}\n"})).fail_on_init_error);
  EXPECT_TRUE(NvidiaConfigOf(GoodLoad({.environment = {{"FAIL_ON_INIT_ERROR", "true"}}}))
                  .fail_on_init_error);
  EXPECT_TRUE(NvidiaConfigOf(GoodLoad({.words = {"--fail-on-init-error"}})).fail_on_init_error);
  EXPECT_FALSE(NvidiaConfigOf(GoodLoad({.yaml = "flags: {failOnInitError: true}\n",
                                        .words = {"--fail-on-init-error=false"}}))
                   .fail_on_init_error);
}

// XIDs that a rule names, whether each counts, and the policy for others.
struct XidRow {
  std::map<std::string, std::string> environment;
  std::vector<NvidiaConfig::XidRule> xids;
  OtherXids others;
};

TEST(NvidiaTranslation, TheVariablesAboutHealthChecksSayWhatXidsMean) {
  const char* off = "DP_DISABLE_HEALTHCHECKS";
  const char* on = "DP_ENABLE_HEALTHCHECKS";
  const XidRow rows[] = {
      {{}, {}, OtherXids::kTable},
      {{{off, "79, 48"}},
       {{48, XidClass::kApplication}, {79, XidClass::kApplication}},
       OtherXids::kTable},
      {{{on, "13"}}, {{13, XidClass::kRecover}}, OtherXids::kTable},
      {{{off, "all"}}, {}, OtherXids::kIgnore},
      {{{off, "all"}, {on, "48"}}, {{48, XidClass::kReset}}, OtherXids::kIgnore},
      {{{off, "xids"}, {on, "all"}}, {}, OtherXids::kCount},
      {{{on, "all"}}, {}, OtherXids::kCount},
      {{{on, "0"}}, {}, OtherXids::kCount},
      {{{off, "all"}, {on, "0"}}, {}, OtherXids::kCount},
  };
  for (const XidRow& row : rows) {
    const LoadResult result = GoodLoad({.environment = row.environment});
    EXPECT_EQ(NvidiaConfigOf(result).xids, row.xids);
    EXPECT_EQ(NvidiaConfigOf(result).other_xids, row.others);
  }
  const LoadResult result = GoodLoad({.environment = {{off, "79,4x,0"}, {on, "48,10000,x"}}});
  EXPECT_EQ(
      NvidiaConfigOf(result).xids,
      (std::vector<NvidiaConfig::XidRule>{{48, XidClass::kReset}, {79, XidClass::kApplication}}));
  EXPECT_EQ(result.SourceOf("resources[0].nvidia.xids[0].xid"),
            "environment DP_ENABLE_HEALTHCHECKS");
  EXPECT_EQ(result.SourceOf("resources[0].nvidia.xids[1].class"),
            "environment DP_DISABLE_HEALTHCHECKS");
  EXPECT_EQ(Messages(result.warnings),
            kOpenDoor +
                "DP_DISABLE_HEALTHCHECKS has '4x', which is not an XID and has no effect\n"
                "DP_ENABLE_HEALTHCHECKS has 'x', which is not an XID and has no effect\n"
                "DP_DISABLE_HEALTHCHECKS has '0', which is not an XID and has no effect\n"
                "DP_ENABLE_HEALTHCHECKS has '10000', which is not an XID and has no effect\n");
}

TEST(NvidiaTranslation, ThatZeroStandsForEveryXidIsToldWhereItDoes) {
  const LoadResult result = GoodLoad({.environment = {{"DP_ENABLE_HEALTHCHECKS", "0,79"}}});

  EXPECT_EQ(NvidiaConfigOf(result).other_xids, OtherXids::kCount);
  EXPECT_EQ(Messages(result.warnings), kOpenDoor +
                                           "DP_ENABLE_HEALTHCHECKS has '0', by which every XID "
                                           "counts, as in NVIDIA's plugin: write 'all'\n");
}

TEST(NvidiaTranslation, RequestsForMoreThanOneShareAreRefusedWhereThePluginRefusesThem) {
  for (const bool refused : {false, true}) {
    const LoadResult result = GoodLoad(
        {.yaml = fmt::format("sharing: {{timeSlicing: {{failRequestsGreaterThanOne: {}, resources: "
                             "[{{name: gpu, replicas: 2}}]}}}}\n",
                             refused)});
    EXPECT_EQ(result.config.resources[0].rendering.one_per_container, refused);
  }
}

TEST(NvidiaTranslation, AShareOfAnotherResourceIsWarnedAbout) {
  const LoadResult result = GoodLoad(
      {.yaml = "sharing: {timeSlicing: {resources: [{name: mig-1g.10gb, replicas: 4}]}}\n"});
  EXPECT_EQ(result.config, Usual());
  EXPECT_EQ(Messages(result.warnings),
            kOpenDoor +
                "sharing.timeSlicing.resources[0].name 'nvidia.com/mig-1g.10gb' is not a resource "
                "of this node and has no effect; there is 'nvidia.com/gpu'\n");
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

TEST(NvidiaTranslation, OneCdiDocumentIsOfAllProfiles) {
  const LoadResult result =
      GoodLoad({.words = {"--mig-strategy=mixed", "--device-list-strategy=cdi-cri"}});
  ASSERT_EQ(result.config.resources.size(), 2U);
  for (const Resource& resource : result.config.resources) {
    EXPECT_EQ(resource.rendering.cdi_kind, "k8s.device-plugin.nvidia.com/gpu");
    EXPECT_TRUE(resource.rendering.cdi_write);
  }
}

TEST(NvidiaTranslation, OnlySharedProfilesAreLimitedToOneShare) {
  const LoadResult result =
      GoodLoad({.yaml = "flags: {migStrategy: mixed}\n"
                        "sharing: {timeSlicing: {failRequestsGreaterThanOne: true, resources: "
                        "[{name: gpu, replicas: 2}, {name: mig-1g.10gb, replicas: 4}]}}\n"});
  std::string limited;
  for (const Resource& resource : result.config.resources) {
    limited += resource.rendering.one_per_container ? "1" : "-";
  }
  EXPECT_EQ(limited, "11-");
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
  EXPECT_EQ(ErrorsOfStart({.yaml = "sharing: {timeSlicing: {resources: [{name: gpu, replicas: "
                                   "2147483648}]}}\n"}),
            "sharing.timeSlicing.resources[0].replicas is 2147483648; at most 2147483647 are "
            "served\n");
  EXPECT_EQ(ErrorsOfStart({.yaml = "flags: {plugin: {deviceListStrategy: []}}\n"}),
            "resources[0].strategies must name at least one: containers would get nothing\n");
}

TEST(NvidiaTranslation, WhatIsPrintedIsTheSameConfiguration) {
  const LoadResult result =
      GoodLoad({.yaml = "flags: {gdsEnabled: true, migStrategy: mixed, plugin: {passDeviceSpecs: "
                        "yes, deviceIDStrategy: index, deviceListStrategy: [envvar, cdi-cri]}}\n"
                        "imex: {channelIDs: [0]}\n"
                        "sharing: {timeSlicing: {failRequestsGreaterThanOne: true, resources: "
                        "[{name: gpu, replicas: 10}, {name: mig-1g.10gb, replicas: 4}]}}\n",
                .environment = {{"DP_DISABLE_HEALTHCHECKS", "all"},
                                {"DP_ENABLE_HEALTHCHECKS", "48"},
                                {"FAIL_ON_INIT_ERROR", "true"}}});
  const LoadResult again =
      config::Load(FullSchema(), {.file = Document::Parse("ours.yaml", PrintYaml(result))});
  EXPECT_EQ(Text(again.errors), "");
  EXPECT_EQ(again.config, result.config);
}

}  // namespace
}  // namespace tessera::config::nvidia
