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

TEST(NvidiaGaps, WhatIsAboutTheCdiDocumentIsToldWhereNamesOfItAreHandedOut) {
  const auto told = [](std::map<std::string, std::string> environment) {
    environment["DEVICE_LIST_STRATEGY"] = "cdi-cri";
    const LoadResult result = Load(Started{.environment = std::move(environment)}.From());
    EXPECT_EQ(Messages(result.errors), "");
    std::string messages;
    for (const Problem& warning : result.warnings) {
      EXPECT_EQ(warning.reason, Reason::kConfigUnsupported);
      // That there is no document at all is another matter.
      if (warning.message.find("writes no document") != std::string::npos) continue;
      messages += warning.message + "\n";
    }
    return messages;
  };
  const std::string why =
      " has no effect: it is about the CDI document, which another program has to write; say it to "
      "that one\n";
  EXPECT_EQ(
      told({{"CDI_FEATURE_FLAGS", "disable-nvsandboxutils"},
            {"CDI_DISABLE_HOOKS", "all"},
            {"NVIDIA_CTK_PATH", "/opt/nvidia-ctk"}}),
      "flags.plugin.nvidiaCTKPath" + why + "cdi-feature-flags" + why + "cdi-disable-hooks" + why);
  EXPECT_EQ(told({{"CDI_FEATURE_FLAGS", ""},
                  {"CDI_DISABLE_HOOKS", ""},
                  {"NVIDIA_CDI_HOOK_PATH", "/usr/bin/nvidia-ctk"}}),
            "");
}

}  // namespace
}  // namespace tessera::config::nvidia
