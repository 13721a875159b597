// SPDX-License-Identifier: Apache-2.0
#include "config/nvidia/gaps.h"

#include "config/nvidia/told_test.h"

namespace tessera::config::nvidia {
namespace {

std::string Refused(const Started& started) {
  const LoadResult result = Load(started.From());
  EXPECT_EQ(Text(result.warnings), "");
  for (const Problem& problem : result.errors) {
    EXPECT_EQ(problem.reason, Reason::kConfigUnsupported);
  }
  return Messages(result.errors);
}

TEST(NvidiaGaps, WhatPodsWouldMissIsRefused) {
  const std::string two = "{resources: [{name: gpu, replicas: 2}]}";
  for (const char* strategy : {"cdi-annotations", "cdi-cri", "envvar,cdi-cri"}) {
    EXPECT_EQ(Refused({.environment = {{"DEVICE_LIST_STRATEGY", strategy}}}),
              "flags.plugin.deviceListStrategy names CDI, for which no document with the driver's "
              "files is written yet: use 'envvar'\n");
  }
  EXPECT_EQ(Refused({.words = {"--device-id-strategy=index"}}),
            "flags.plugin.deviceIDStrategy 'index' is not served yet: use 'uuid', which containers "
            "take as well\n");
  EXPECT_EQ(
      Refused({.words = {"--gdrcopy-enabled", "--gds-enabled", "--mofed-enabled"}}),
      "flags.gdrcopyEnabled is not served yet: containers would have no GDRCopy; set it to "
      "false\n"
      "flags.gdsEnabled is not served yet: containers would have no GPUDirect Storage; set it "
      "to false\n"
      "flags.mofedEnabled is not served yet: containers would have no Mellanox OFED; set it to "
      "false\n");
  EXPECT_EQ(
      Refused({.yaml = "sharing: {mps: " + two + "}\n", .words = {"--mps-root=/mps"}}),
      "sharing.mps is not served yet: use sharing.timeSlicing, which sets no limits, or leave "
      "it out\n");
  EXPECT_EQ(
      Refused({.yaml = "sharing: {timeSlicing: {failRequestsGreaterThanOne: true, resources: "
                       "[{name: gpu, replicas: 2}]}}\n"}),
      "sharing.timeSlicing.failRequestsGreaterThanOne is not served yet: a container that asks "
      "for more than one share would get them; set it to false\n");
  EXPECT_EQ(Refused({.words = {"--imex-channel-ids=0"}}),
            "imex.channelIDs is not served yet: containers would have no IMEX channel; leave it "
            "out\n");
  EXPECT_EQ(Refused({.words = {"--kubelet-socket="}}),
            "kubelet-socket is empty, which is to register nowhere: the agent always registers; "
            "leave it out\n");
}

TEST(NvidiaGaps, WhatIsSafeWithoutIsWarnedAbout) {
  const LoadResult result = Load({.environment = {{"FAIL_ON_INIT_ERROR", "true"},
                                                  {"DP_DISABLE_HEALTHCHECKS", "all"},
                                                  {"DP_ENABLE_HEALTHCHECKS", "48"}}});
  EXPECT_EQ(Text(result.errors), "");
  EXPECT_EQ(Text(result.warnings),
            "environment FAIL_ON_INIT_ERROR: flags.failOnInitError has no effect: without a driver "
            "the agent goes on, says so on /readyz, and serves as soon as there is one "
            "[config-unsupported]\n"
            "environment DP_DISABLE_HEALTHCHECKS: has no effect yet: XIDs count as docs/nvidia.md "
            "says, or as 'nvidia: {xids: ...}' of a file of Tessera's does [config-unsupported]\n"
            "environment DP_ENABLE_HEALTHCHECKS: has no effect yet: XIDs count as docs/nvidia.md "
            "says, or as 'nvidia: {xids: ...}' of a file of Tessera's does [config-unsupported]\n");
}

TEST(NvidiaGaps, WhatIsOfNoEffectInThePluginEitherIsNoMatter) {
  EXPECT_EQ(Refused({.yaml = "imex: {required: true}\n",
                     .environment = {{"MPS_ROOT", "/run/nvidia/mps"},
                                     {"CDI_FEATURE_FLAGS", "x"},
                                     {"NVIDIA_CDI_HOOK_PATH", "/x"},
                                     {"FAIL_ON_INIT_ERROR", "false"}}}),
            "");
}

}  // namespace
}  // namespace tessera::config::nvidia
