// SPDX-License-Identifier: Apache-2.0
#include "agent/resource_set.h"

#include <gtest/gtest.h>

#include "config/load.h"
#include "config/schema/family.h"
#include "kinds/kinds.h"

// How resources come and go: test/integration/nvidia_mig_test.cc.
namespace tessera::agent {
namespace {

config::Config Configured() {
  const config::LoadResult result = config::Load(
      FullSchema(), {.file = config::Document::Parse(
                         "t.yaml",
                         "version: tessera/v1\n"
                         "resources:\n"
                         "- {name: nvidia.com/gpu, nvidia: {}}\n"
                         "- {name: nvidia.com/mig-7g.80gb, nvidia: {mig: 7g.80gb}}\n"
                         "- {name: \"nvidia.com/mig-{profile}\", policy: replicas, replicas: 4,\n"
                         "   nvidia: {mig: 1g.10gb+me}}\n"
                         "- {name: \"nvidia.com/mig-{profile}\", nvidia: {mig: \"*\"}}\n")});
  EXPECT_EQ(config::Text(result.errors), "");
  return result.config;
}

TEST(ResourceNamed, IsTheOneThatIsConfigured) {
  const config::Config config = Configured();
  EXPECT_EQ(ResourceNamed(config, "nvidia.com/gpu"), config.resources[0]);
  EXPECT_EQ(ResourceNamed(config, "nvidia.com/mig-7g.80gb"), config.resources[1]);
}

TEST(ResourceNamed, IsElseOfTheFirstFamilyThatMayHaveIt) {
  const config::Config config = Configured();
  EXPECT_EQ(ResourceNamed(config, "nvidia.com/mig-1g.10gb.me"),
            config::Member(config.resources[2], "nvidia.com/mig-1g.10gb.me"));
  EXPECT_EQ(ResourceNamed(config, "nvidia.com/mig-1g.10gb"),
            config::Member(config.resources[3], "nvidia.com/mig-1g.10gb"));
}

TEST(ResourceNamed, IsNoneWhereNothingMayHaveTheName) {
  EXPECT_EQ(ResourceNamed(Configured(), "nvidia.com/gpu.shared"), std::nullopt);
}

}  // namespace
}  // namespace tessera::agent
