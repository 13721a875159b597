// SPDX-License-Identifier: Apache-2.0
#include "share/withhold.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace tessera {
namespace {

constexpr char kCard[] = "fixture.com/card";

using Ids = std::vector<std::string>;

// Devices 0, with this room, and 1, with enough room, each divided into four.
Offer DividedOffer(std::optional<int> room, const Ids& held = {}) {
  Inventory inventory;
  for (const char* id : {"0", "1"}) {
    Device device;
    device.key = {kCard, id};
    inventory.devices.push_back(device);
  }
  Device limited = inventory.devices[0];
  limited.traits = DeviceTraits{.shares = room};
  inventory.devices = {limited, inventory.devices[1]};
  Offer offer = Divide(kCard, {{Division::kReplicas, 4}}, inventory, kCard,
                       [](const Device&) -> std::optional<Error> { return std::nullopt; });
  if (offer.limited) Withhold(held, offer);
  return offer;
}

// The offered ids of device 0.
Ids Offered(const Offer& offer) {
  Ids ids;
  for (const Share& share : offer.shares) {
    if (share.device == 0 && offer.IsHealthy(share)) ids.push_back(share.id);
  }
  return ids;
}

TEST(Withhold, ADeviceOffersTheFirstSharesThatItHasRoomFor) {
  const Offer offer = DividedOffer(2);

  EXPECT_EQ(Offered(offer), (Ids{"0::0", "0::1"}));
  EXPECT_EQ(offer.shares.size(), 8U);
  EXPECT_EQ(offer.HealthyShares(), 6U);
  EXPECT_TRUE(offer.troubles.empty());
}

TEST(Withhold, WhatIsHeldStaysAndCountsFirst) {
  EXPECT_EQ(Offered(DividedOffer(2, {"0::3"})), (Ids{"0::0", "0::3"}));
  EXPECT_EQ(Offered(DividedOffer(2, {"0::2", "0::3", "1::0"})), (Ids{"0::2", "0::3"}));
  EXPECT_EQ(Offered(DividedOffer(1, {"0::1", "0::2", "0::3"})), (Ids{"0::1", "0::2", "0::3"}));
}

TEST(Withhold, WithoutRoomOnlyWhatIsHeldIsOffered) {
  EXPECT_EQ(Offered(DividedOffer(0)), Ids());
  EXPECT_EQ(Offered(DividedOffer(0, {"0::3"})), Ids{"0::3"});
}

TEST(Withhold, ADeviceThatHasRoomForAllOffersAll) {
  EXPECT_FALSE(DividedOffer(std::nullopt).limited);
  EXPECT_EQ(DividedOffer(9).HealthyShares(), 8U);
}

TEST(Withhold, AShareWithoutRoomIsRefusedAndSaysWhy) {
  const Offer offer = DividedOffer(2);

  EXPECT_TRUE(CheckRoom(offer, *offer.shares.Find("0::1")));
  EXPECT_EQ(CheckRoom(offer, *offer.shares.Find("0::2")).error(),
            (Error{Reason::kUnhealthyShare,
                   "fixture.com/card: id 0::2 is not offered now: device 0 "
                   "has room for 2 shares"}));
}

TEST(Withhold, WhatIsToBeWithheldGoesFromWhatIsGrantedBefore) {
  const Offer all = DividedOffer(4);
  const Offer next = DividedOffer(2);

  const std::optional<Offer> rest = WithoutOthers(all, next);

  ASSERT_TRUE(rest);
  EXPECT_EQ(Offered(*rest), (Ids{"0::0", "0::1"}));
  EXPECT_EQ(rest->shares.size(), 6U);
  EXPECT_FALSE(WithoutOthers(*rest, next));
  EXPECT_FALSE(WithoutOthers(next, next));
  EXPECT_FALSE(WithoutOthers(next, all));
}

}  // namespace
}  // namespace tessera
