// SPDX-License-Identifier: Apache-2.0
// Files of NVIDIA's plugin that need more than our configuration holds.
#include <fmt/core.h>

#include "compat/nvidia/told_test.h"
#include "kinds/kinds.h"

namespace tessera::config::nvidia {
namespace {

std::string Errors(const Started& started) {
  return Text(Load(FullSchema(), started.From()).errors);
}

TEST(NvidiaLimits, MoreThanAConfigurationHoldsIsRefused) {
  std::string shared;
  std::string xids = "301";
  for (int i = 1; i <= 300; ++i) {
    shared += fmt::format("  - {{name: mig-{}g.10gb, replicas: 2}}\n", i);
    xids += fmt::format(",{}", i);
  }
  const std::string mixed = "flags: {migStrategy: mixed}\nsharing:\n timeSlicing:\n  resources:\n";
  EXPECT_EQ(
      Errors({.yaml = mixed + shared}),
      "t.yaml:259:5: sharing.timeSlicing.resources[254] is one resource too many: at most 256 "
      "are served [config-bad-value]\n"
      "  - {name: mig-255g.10gb, replicas: 2}\n"
      "    ^\n");
  EXPECT_EQ(Errors({.environment = {{"DP_DISABLE_HEALTHCHECKS", xids}}}),
            "environment DP_DISABLE_HEALTHCHECKS: resources[0].nvidia.xids has 301 items, at most "
            "256 are allowed [config-bad-value]\n");
}

}  // namespace
}  // namespace tessera::config::nvidia
