// SPDX-License-Identifier: Apache-2.0
#include "config/schema/family.h"

#include <gtest/gtest.h>

namespace tessera::config {
namespace {

constexpr char kMig[] = "nvidia.com/mig-{profile}";

TEST(Family, IsAResourceWithAProfileInItsName) {
  EXPECT_TRUE(IsFamily(kMig));
  EXPECT_FALSE(IsFamily("nvidia.com/mig-1g.10gb"));
}

TEST(Family, HasAResourceForEachProfileWithDotsForPluses) {
  EXPECT_EQ(MemberName(kMig, "1g.10gb"), "nvidia.com/mig-1g.10gb");
  EXPECT_EQ(MemberName(kMig, "1g.24gb+me.all"), "nvidia.com/mig-1g.24gb.me.all");
  EXPECT_EQ(MemberName(kMig, "1g.24gb-me"), "nvidia.com/mig-1g.24gb-me");
  EXPECT_EQ(MemberName("a.com/{profile}.shared", "1c.2g.20gb"), "a.com/1c.2g.20gb.shared");
}

TEST(Family, KnowsItsResourcesByTheirNames) {
  EXPECT_EQ(ProfileIn(kMig, "nvidia.com/mig-1g.10gb.me"), "1g.10gb.me");
  EXPECT_EQ(ProfileIn("a.com/{profile}.shared", "a.com/1g.10gb.shared"), "1g.10gb");
  EXPECT_EQ(ProfileIn("a.com/{profile}.shared", "a.com/1g.10gb"), std::nullopt);
  EXPECT_EQ(ProfileIn("a.com/{profile}.shared", "a.com/.shared"), std::nullopt);
  EXPECT_EQ(ProfileIn(kMig, "nvidia.com/gpu"), std::nullopt);
}

TEST(Family, GivesItsResourcesAllButItsName) {
  Resource family;
  family.name = kMig;
  family.policy = {Division::kReplicas, 4};
  Resource member = family;
  member.name = "nvidia.com/mig-1g.10gb";

  EXPECT_EQ(Member(family, "nvidia.com/mig-1g.10gb"), member);
}

}  // namespace
}  // namespace tessera::config
