// SPDX-License-Identifier: Apache-2.0
#include "config/nvidia/gaps.h"

#include "config/nvidia/told_test.h"

namespace tessera::config::nvidia {
namespace {

std::string Refused(const Started& started) {
  const LoadResult result = Load(started.From());
  for (const Problem& warning : result.warnings) {
    EXPECT_EQ(warning.reason, Reason::kConfigOpen);  // that of the plugin's default
  }
  for (const Problem& problem : result.errors) {
    EXPECT_EQ(problem.reason, Reason::kConfigUnsupported);
  }
  return Messages(result.errors);
}

TEST(NvidiaGaps, WhatPodsWouldMissIsRefused) {
  EXPECT_EQ(Refused({.words = {"--kubelet-socket="}}),
            "kubelet-socket is empty, which is to register nowhere: the agent always registers; "
            "leave it out\n");
}

TEST(NvidiaGaps, WhatIsOfNoEffectInThePluginEitherIsNoMatter) {
  EXPECT_EQ(Refused({.yaml = "imex: {required: true}\n",
                     .environment = {{"MPS_ROOT", "/run/nvidia/mps"},
                                     {"CDI_FEATURE_FLAGS", "x"},
                                     {"CDI_DISABLE_HOOKS", "all"},
                                     {"NVIDIA_CDI_HOOK_PATH", "/x"}}}),
            "");
}

}  // namespace
}  // namespace tessera::config::nvidia
