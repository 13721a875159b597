// SPDX-License-Identifier: Apache-2.0
#include "agent/recent_grant.h"

#include <gtest/gtest.h>

namespace tessera::agent {
namespace {

OfferPtr OfferWith(const std::string& resource, size_t devices) {
  auto offer = std::make_shared<Offer>();
  offer->resource = resource;
  for (size_t i = 0; i < devices; ++i) {
    Device device;
    device.key = {resource, std::to_string(i)};
    offer->devices.push_back(device);
  }
  return offer;
}

class RecentGrantTest : public testing::Test {
 protected:
  std::string Beside(const std::string& resource, Steady now) const {
    const auto beside = recent_.Beside(resource, now);
    return beside ? beside->offer->resource + " " + beside->ids.front() : "none";
  }

  const Steady now_{Duration(10'000)};
  RecentGrant recent_;
};

TEST_F(RecentGrantTest, TheNewestGrantOfAnotherResourceIsThatOfTheSameContainer) {
  EXPECT_EQ(Beside("a.com/x", now_), "none");
  recent_.Put(OfferWith("a.com/x", 1), {"0"}, now_);

  EXPECT_EQ(Beside("b.com/y", now_ + RecentGrant::kRecent), "a.com/x 0");
  EXPECT_EQ(Beside("a.com/x", now_), "none");
  EXPECT_EQ(Beside("b.com/y", now_ + RecentGrant::kRecent + Duration(1)), "none");
}

TEST_F(RecentGrantTest, ALargeOfferIsNotKeptAndEndsTheFormerOne) {
  recent_.Put(OfferWith("a.com/x", 1), {"0"}, now_);
  const OfferPtr large = OfferWith("c.com/z", RecentGrant::kMostDevices + 1);

  recent_.Put(large, {"0"}, now_);

  EXPECT_EQ(large.use_count(), 1);
  EXPECT_EQ(Beside("b.com/y", now_), "none");
}

}  // namespace
}  // namespace tessera::agent
