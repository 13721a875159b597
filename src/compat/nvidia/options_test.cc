// SPDX-License-Identifier: Apache-2.0
#include "compat/nvidia/options.h"

#include "compat/nvidia/told_test.h"

namespace tessera::config::nvidia {
namespace {

using Strings = std::vector<std::string>;

TEST(NvidiaOptions, TheTableHasEveryFlagOfThePluginAndOfFeatureDiscovery) {
  Strings flags;
  for (const Option& option : Options()) {
    flags.insert(flags.end(), option.flags.begin(), option.flags.end());
  }
  EXPECT_EQ(flags, (Strings{"mig-strategy",
                            "fail-on-init-error",
                            "driver-root",
                            "nvidia-driver-root",
                            "dev-root",
                            "nvidia-dev-root",
                            "gdrcopy-enabled",
                            "gds-enabled",
                            "mofed-enabled",
                            "mps-root",
                            "device-discovery-strategy",
                            "pass-device-specs",
                            "device-list-strategy",
                            "device-id-strategy",
                            "cdi-annotation-prefix",
                            "nvidia-cdi-hook-path",
                            "nvidia-ctk-path",
                            "driver-root-ctr-path",
                            "container-driver-root",
                            "shared-devices-allocation-policy",
                            "cdi-feature-flags",
                            "cdi-disable-hooks",
                            "imex-channel-ids",
                            "imex-required",
                            "kubelet-socket",
                            "config-file",
                            "oneshot",
                            "no-timestamp",
                            "sleep-interval",
                            "output-file",
                            "output",
                            "o",
                            "machine-type-file",
                            "use-node-feature-api",
                            "kubeconfig",
                            "kube-api-qps",
                            "kube-api-burst",
                            "namespace",
                            "pod-name"}));
}

TEST(NvidiaOptions, TheTableHasEveryVariableAndDefault) {
  std::map<std::string, std::string> defaults;
  for (const Option& option : Options()) {
    for (const std::string& name : option.variables) defaults[name] = DefaultText(option);
  }
  EXPECT_EQ(defaults,
            (std::map<std::string, std::string>{
                {"GFD_MIG_STRATEGY", "none"},
                {"GFD_FAIL_ON_INIT_ERROR", "true"},
                {"GFD_CONFIG_FILE", ""},
                {"GFD_ONESHOT", "false"},
                {"GFD_NO_TIMESTAMP", "false"},
                {"GFD_SLEEP_INTERVAL", "1m"},
                {"GFD_OUTPUT_FILE", "/etc/kubernetes/node-feature-discovery/features.d/gfd"},
                {"GFD_MACHINE_TYPE_FILE", "/sys/class/dmi/id/product_name"},
                {"GFD_USE_NODE_FEATURE_API", "true"},
                {"USE_NODE_FEATURE_API", "true"},
                {"MIG_STRATEGY", "none"},
                {"FAIL_ON_INIT_ERROR", "true"},
                {"NVIDIA_DRIVER_ROOT", "/"},
                {"NVIDIA_DEV_ROOT", ""},
                {"PASS_DEVICE_SPECS", "false"},
                {"DEVICE_LIST_STRATEGY", "envvar"},
                {"DEVICE_ID_STRATEGY", "uuid"},
                {"GDRCOPY_ENABLED", "false"},
                {"GDS_ENABLED", "false"},
                {"MOFED_ENABLED", "false"},
                {"CDI_ANNOTATION_PREFIX", "cdi.k8s.io/"},
                {"NVIDIA_CDI_HOOK_PATH", "/usr/bin/nvidia-ctk"},
                {"NVIDIA_CTK_PATH", "/usr/bin/nvidia-ctk"},
                {"DRIVER_ROOT_CTR_PATH", "/driver-root"},
                {"CONTAINER_DRIVER_ROOT", "/driver-root"},
                {"MPS_ROOT", ""},
                {"SHARED_DEVICES_ALLOCATION_POLICY", "distributed"},
                {"DEVICE_DISCOVERY_STRATEGY", "auto"},
                {"IMEX_CHANNEL_IDS", ""},
                {"IMEX_REQUIRED", "false"},
                {"KUBELET_SOCKET", "/var/lib/kubelet/device-plugins/kubelet.sock"},
                {"CONFIG_FILE", ""},
                {"CDI_FEATURE_FLAGS", ""},
                {"CDI_DISABLE_HOOKS", ""}}));
}

TEST(NvidiaOptions, VariablesAreRead) {
  Settings wanted;
  wanted.mig_strategy = "single";
  wanted.fail_on_init_error = false;
  wanted.pass_device_specs = true;
  wanted.list_strategies = {"envvar", "cdi-cri"};
  wanted.imex_channels = {0};
  wanted.container_driver_root = "/d";
  wanted.cdi_hook_path = "/first";
  EXPECT_EQ(Good({.environment = {{"MIG_STRATEGY", "single"},
                                  {"FAIL_ON_INIT_ERROR", "F"},
                                  {"PASS_DEVICE_SPECS", "1"},
                                  {"DEVICE_LIST_STRATEGY", "envvar, cdi-cri"},
                                  {"IMEX_CHANNEL_IDS", "0"},
                                  {"CONTAINER_DRIVER_ROOT", "/d"},
                                  {"NVIDIA_CTK_PATH", "/second"},
                                  {"NVIDIA_CDI_HOOK_PATH", "/first"},
                                  {"HOME", "/root"}}}),
            wanted);
}

TEST(NvidiaOptions, WhatFeatureDiscoveryIsStartedWithIsRead) {
  Settings wanted;
  wanted.mig_strategy = "single";
  wanted.fail_on_init_error = false;
  wanted.config_file = "/config";
  wanted.gfd_oneshot = true;
  wanted.gfd_sleep_interval = Duration(30'000);
  wanted.gfd_output_file = "/out";
  wanted.gfd_machine_type_file = "/machine";
  wanted.use_node_feature_api = false;
  wanted.passed_over = "gpu-operator";
  EXPECT_EQ(Good({.environment = {{"GFD_MIG_STRATEGY", "single"},
                                  {"MIG_STRATEGY", "mixed"},
                                  {"GFD_FAIL_ON_INIT_ERROR", "false"},
                                  {"GFD_CONFIG_FILE", "/config"},
                                  {"GFD_SLEEP_INTERVAL", "30s"},
                                  {"USE_NODE_FEATURE_API", "false"}},
                  .words = {"--oneshot", "-o", "/out", "--machine-type-file=/machine",
                            "--namespace=gpu-operator"}}),
            wanted);
  EXPECT_EQ(Told({.words = {"--sleep-interval=soon"}}),
            "flags.gfd.sleepInterval takes a time such as 60s or 1h30m, or 'infinite', not "
            "'soon'\n");
}

TEST(NvidiaOptions, AnEmptyVariableIsAnEmptyTextOrNoOrNothing) {
  Settings wanted;
  wanted.fail_on_init_error = false;
  wanted.driver_root = "";
  EXPECT_EQ(Good({.environment = {{"FAIL_ON_INIT_ERROR", ""},
                                  {"NVIDIA_DRIVER_ROOT", ""},
                                  {"IMEX_CHANNEL_IDS", ""}}}),
            wanted);
  EXPECT_EQ(Told({.environment = {{"MIG_STRATEGY", ""},
                                  {"DEVICE_ID_STRATEGY", ""},
                                  {"DEVICE_LIST_STRATEGY", ""}}}),
            "flags.plugin.deviceListStrategy takes 'envvar', 'volume-mounts', 'cdi-annotations' or "
            "'cdi-cri', not ''\n"
            "flags.plugin.deviceIDStrategy takes 'uuid' or 'index', not ''\n"
            "flags.migStrategy takes 'none', 'single' or 'mixed', not ''\n");
}

TEST(NvidiaOptions, AVariableThatIsNoGoodIsNamed) {
  std::string errors;
  std::string warnings;
  Read({.environment = {{"GDS_ENABLED", "yes"}, {"IMEX_CHANNEL_IDS", "0,x"}}}, &errors, &warnings);
  EXPECT_EQ(errors,
            "environment GDS_ENABLED: flags.gdsEnabled takes true or false, not 'yes' "
            "[config-wrong-type]\n"
            "environment IMEX_CHANNEL_IDS: imex.channelIDs takes whole numbers, separated by "
            "commas, not 'x' [config-wrong-type]\n");
}

}  // namespace
}  // namespace tessera::config::nvidia
