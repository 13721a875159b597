// SPDX-License-Identifier: Apache-2.0
#include "fraction/followed_region.h"

#include <gtest/gtest.h>

#include "fraction/region_test.h"

namespace tessera {
namespace {

TEST(RegionVisitsTest, SaysWhereTheThreadIs) {
  RegionVisits visits;
  EXPECT_EQ(visits.CurrentRegion(), "");
  EXPECT_TRUE(visits.EnterRegion("/a"));
  EXPECT_TRUE(visits.EnterRegion("/b"));
  EXPECT_EQ(visits.CurrentRegion(), "/b");
  visits.LeaveRegion();
  EXPECT_EQ(visits.CurrentRegion(), "");
}

class FollowedRegionTest : public RegionTest {
 protected:
  const std::shared_ptr<RegionVisits> visits_ = std::make_shared<RegionVisits>();
};

TEST_F(FollowedRegionTest, WhoIsToStopTouchesItNoMore) {
  Region& region = Make("a");
  const FollowedRegion file = FollowedRegion::Open(directory_, FileOf("a"), visits_);
  ASSERT_TRUE(file.valid());
  visits_->Stop();

  file.Write(offsetof(Region, accounting.times), uint64_t{1});
  uint64_t read = 0;
  EXPECT_FALSE(file.Read(offsetof(Region, accounting.times), read));
  EXPECT_EQ(region.accounting.times[0].used, 0U);
  EXPECT_FALSE(FollowedRegion::Open(directory_, FileOf("a"), visits_).valid());
}

TEST_F(FollowedRegionTest, WhoIsAtItIsSeenThere) {
  Make("a");
  const FollowedRegion file = FollowedRegion::Open(directory_, FileOf("a"), visits_);
  EXPECT_EQ(visits_->CurrentRegion(), directory_ + "/" + FileOf("a"));
}

}  // namespace
}  // namespace tessera
