// SPDX-License-Identifier: Apache-2.0
#include "ledger/grant_inbox.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace tessera {
namespace {

constexpr char kResource[] = "dummy.com/npu";
constexpr char kOther[] = "other.com/npu";
constexpr Steady kBegin{Duration(1'000'000)};

using Grants = std::vector<PendingGrant>;
using Holdings = std::vector<Holding>;
using Ids = std::vector<std::string>;

Steady At(int milliseconds) {
  return kBegin + Duration(milliseconds);
}

Holding HeldShares(const Ids& ids, const std::string& uid = "uid-a") {
  return {"default", "a", uid, "main", kResource, ids};
}

TEST(GrantInbox, AGrantWaitsUntilItIsConfirmed) {
  GrantInbox inbox;
  inbox.Put(kResource, {"10", "2"}, kBegin);
  inbox.Put(kOther, {"2"}, kBegin);
  EXPECT_EQ(inbox.pending(), (Grants{{kResource, {"2", "10"}, kBegin}, {kOther, {"2"}, kBegin}}));

  const Holdings appeared = {HeldShares({"2", "10"})};
  EXPECT_EQ(inbox.Confirm(appeared), Holdings());

  EXPECT_EQ(inbox.pending(), (Grants{{kOther, {"2"}, kBegin}}));
}

TEST(GrantInbox, TheSameSharesGrantedAgainAreOneGrantOfTheNewestTime) {
  GrantInbox inbox;
  for (int time = 0; time < 80'000; ++time) inbox.Put(kResource, {"1", "2"}, At(time));

  EXPECT_EQ(inbox.pending(), (Grants{{kResource, {"1", "2"}, At(79'999)}}));
}

TEST(GrantInbox, AGrantGoesOnceEachOfItsSharesWasGrantedAnew) {
  GrantInbox inbox;
  inbox.Put(kResource, {"1", "2"}, At(0));
  inbox.Put(kResource, {"2", "3"}, At(1));
  EXPECT_EQ(inbox.pending(),
            (Grants{{kResource, {"1", "2"}, At(0)}, {kResource, {"2", "3"}, At(1)}}));

  inbox.Put(kResource, {"1"}, At(2));
  EXPECT_EQ(inbox.pending(), (Grants{{kResource, {"2", "3"}, At(1)}, {kResource, {"1"}, At(2)}}));
}

TEST(GrantInbox, TheSameSharesOfAnotherResourceAreOthers) {
  GrantInbox inbox;
  inbox.Put(kResource, {"1"}, At(0));
  inbox.Put(kOther, {"1"}, At(1));

  EXPECT_EQ(inbox.pending(), (Grants{{kResource, {"1"}, At(0)}, {kOther, {"1"}, At(1)}}));
}

TEST(GrantInbox, WhateverIsGrantedNoMoreGrantsWaitThanThereAreShares) {
  constexpr int kShares = 16;
  GrantInbox inbox;
  for (unsigned time = 0; time < 4'000; ++time) {
    Ids ids;
    for (int share = 0; share < kShares; ++share) {
      if (((time * 2'654'435'761U) >> (share + 8) & 1) != 0) ids.push_back(std::to_string(share));
    }
    if (!ids.empty()) inbox.Put(kResource, std::move(ids), At(static_cast<int>(time)));
  }

  EXPECT_LE(inbox.pending().size(), static_cast<size_t>(kShares));
  for (int share = 0; share < kShares; ++share) {
    EXPECT_TRUE(inbox.Uses({kResource, std::to_string(share)})) << share;
  }
}

TEST(GrantInbox, AShareNamedTwiceIsOne) {
  GrantInbox inbox;
  inbox.Put(kResource, {"1", "1"}, At(0));
  EXPECT_EQ(inbox.pending(), (Grants{{kResource, {"1"}, At(0)}}));

  inbox.Put(kResource, {"1"}, At(1));
  EXPECT_EQ(inbox.pending(), (Grants{{kResource, {"1"}, At(1)}}));
}

TEST(GrantInbox, OtherSharesOfTheSameContainerConfirmNothing) {
  GrantInbox inbox;
  inbox.Put(kResource, {"1", "2"}, kBegin);

  const Holdings appeared = {HeldShares({"1"})};
  EXPECT_EQ(inbox.Confirm(appeared), Holdings());

  EXPECT_EQ(inbox.pending(), (Grants{{kResource, {"1", "2"}, kBegin}}));
}

TEST(GrantInbox, AHoldingWithAShareThatNoGrantNamesIsUnexplained) {
  GrantInbox inbox;
  inbox.Put(kResource, {"1", "2"}, kBegin);

  const Holdings appeared = {HeldShares({"2", "3"}), HeldShares({"1"})};

  EXPECT_EQ(inbox.Confirm(appeared), Holdings{HeldShares({"2", "3"})});
}

TEST(GrantInbox, AGrantIsForgottenByItsNewestTime) {
  GrantInbox inbox;
  inbox.Put(kResource, {"1"}, At(0));
  inbox.Put(kResource, {"2"}, At(1));
  inbox.Put(kResource, {"1"}, At(2));

  EXPECT_EQ(inbox.Forget(At(0)), Grants());
  EXPECT_EQ(inbox.Forget(At(1)), (Grants{{kResource, {"2"}, At(1)}}));
  EXPECT_EQ(inbox.pending(), (Grants{{kResource, {"1"}, At(2)}}));
  EXPECT_FALSE(inbox.Uses({kResource, "2"}));
}

TEST(GrantInbox, WhatANewerGrantLeftOfAnOlderOneIsGrantedAnewLikeAnyOther) {
  GrantInbox inbox;
  inbox.Put(kResource, {"1", "2"}, At(0));
  inbox.Put(kResource, {"2"}, At(1));
  const Holdings appeared = {HeldShares({"2"})};
  EXPECT_EQ(inbox.Confirm(appeared), Holdings());
  EXPECT_EQ(inbox.pending(), (Grants{{kResource, {"1", "2"}, At(0)}}));

  inbox.Put(kResource, {"2"}, At(2));
  inbox.Put(kResource, {"1"}, At(3));

  EXPECT_EQ(inbox.pending(), (Grants{{kResource, {"2"}, At(2)}, {kResource, {"1"}, At(3)}}));
}

TEST(GrantInbox, GrantedDevicesAreInUse) {
  GrantInbox inbox;
  inbox.Put(kResource, {"7::0"}, kBegin);

  EXPECT_TRUE(inbox.Uses({kResource, "7"}));
  EXPECT_FALSE(inbox.Uses({kResource, "8"}));
  EXPECT_FALSE(inbox.Uses({kOther, "7"}));
  EXPECT_TRUE(inbox.UsesAny(kResource));
  EXPECT_FALSE(inbox.UsesAny(kOther));
}

TEST(GrantInbox, GrantsArePutDownWhileOthersAreLookedAt) {
  constexpr int kGrants = 2'000;
  GrantInbox inbox;
  std::thread endpoint([&] {
    for (int time = 0; time < kGrants; ++time) {
      inbox.Put(kResource, {std::to_string(time % 7)}, At(time));
      inbox.PutBound({"uid-a", "main", kResource, {"7"}, At(time)});
    }
  });

  while (!inbox.Uses({kResource, "7"}) || inbox.pending().size() < 7)
    (void)inbox.DevicesOf(HeldShares({"1"}));
  endpoint.join();

  Grants last;
  for (int time = kGrants - 7; time < kGrants; ++time) {
    last.push_back({kResource, {std::to_string(time % 7)}, At(time)});
  }
  EXPECT_EQ(inbox.pending(), last);
}

TEST(GrantInbox, WhatWasBoundLastIsWhatTheContainerHas) {
  GrantInbox inbox;
  inbox.PutBound({"uid-a", "main", kResource, {"7"}, At(0)});
  inbox.PutBound({"uid-a", "main", kResource, {"8"}, At(1)});

  EXPECT_EQ(inbox.bound(), (std::vector<BoundDevices>{{"uid-a", "main", kResource, {"8"}, At(1)}}));
  EXPECT_EQ(inbox.DevicesOf(HeldShares({"9::0"})), Ids{"8"});
  EXPECT_EQ(inbox.DevicesOf(HeldShares({"9::0"}, "uid-b")), Ids());
  EXPECT_TRUE(inbox.Uses({kResource, "8"}));
}

TEST(GrantInbox, WhatWasBoundIsKeptUntilItsContainerHasEndedOrIsLate) {
  GrantInbox inbox;
  inbox.PutBound({"uid-a", "main", kResource, {"7"}, At(0)});
  inbox.PutBound({"uid-b", "main", kResource, {"8"}, At(1)});
  const Holdings holdings = {HeldShares({"7"})};

  inbox.KeepBound(holdings, At(0));
  EXPECT_EQ(inbox.bound(), (std::vector<BoundDevices>{{"uid-a", "main", kResource, {"7"}, At(0)},
                                                      {"uid-b", "main", kResource, {"8"}, At(1)}}));

  inbox.KeepBound({}, At(0));
  EXPECT_EQ(inbox.bound(), (std::vector<BoundDevices>{{"uid-b", "main", kResource, {"8"}, At(1)}}));

  inbox.KeepBound({}, At(1));
  EXPECT_EQ(inbox.bound(), std::vector<BoundDevices>());
  EXPECT_FALSE(inbox.UsesAny(kResource));
}

Exclusive Taking(const DeviceKey& device, const Ids& hardware, bool held = false) {
  return {device, hardware, held};
}
const Exclusive kWhole = Taking({kResource, "0"}, {"a", "b"});
const Exclusive kPart = Taking({kOther, "0-b"}, {"b"});
const PutResult kExcludes{.rival = std::nullopt, .excludes = true};
const PutResult kPlain{};

// A whole device and a part of it, neither of them granted.
class GrantInboxRivalsTest : public testing::Test {
 protected:
  GrantInboxRivalsTest() { Set({kWhole, kPart}); }
  void Set(const std::vector<Exclusive>& devices) { inbox_.SetExclusive(devices); }
  PutResult PutWhole(int time) { return inbox_.Put(kResource, {"0::1"}, At(time)); }
  PutResult PutPart(int time) { return inbox_.Put(kOther, {"0-b"}, At(time)); }

  GrantInbox inbox_;
  const PutResult kWholeHasIt{.rival = kWhole.device, .excludes = false};
};

TEST_F(GrantInboxRivalsTest, OfDevicesThatTakeTheSameHardwareOneIsGranted) {
  EXPECT_EQ(PutWhole(0), kExcludes);

  EXPECT_EQ(PutPart(1), kWholeHasIt);
  EXPECT_EQ(PutWhole(2), kPlain);

  EXPECT_EQ(inbox_.pending(), (Grants{{kResource, {"0::1"}, At(2)}}));
}

TEST_F(GrantInboxRivalsTest, TwoThatAreAskedForTogetherAreRivalsToo) {
  Set({kWhole, Taking({kResource, "1"}, {"c", "b"})});

  EXPECT_EQ(inbox_.Put(kResource, {"0", "1"}, At(0)), kWholeHasIt);

  EXPECT_EQ(inbox_.pending(), Grants());
  EXPECT_EQ(inbox_.Put(kResource, {"1"}, At(1)), kExcludes);
}

TEST_F(GrantInboxRivalsTest, AConfirmedGrantKeepsItsHardwareUntilItIsKnownThatNobodyHoldsIt) {
  (void)PutWhole(0);
  (void)inbox_.Confirm(Holdings{HeldShares({"0::1"})});
  EXPECT_EQ(PutPart(1), kWholeHasIt);

  Set({Taking({kResource, "0"}, {"a", "b"}, true), kPart});
  EXPECT_EQ(PutPart(2), kWholeHasIt);

  Set({kWhole, kPart});
  EXPECT_EQ(PutPart(3), kExcludes);
}

TEST_F(GrantInboxRivalsTest, APendingGrantKeepsItsHardwareWhateverTheLedgerKnows) {
  (void)PutWhole(0);

  Set({kWhole, kPart});

  EXPECT_EQ(PutPart(1), kWholeHasIt);
}

TEST_F(GrantInboxRivalsTest, ARivalIsOneFromTheNewestTableOnWhateverWasGrantedBefore) {
  Set({});
  EXPECT_EQ(PutWhole(0), kPlain);

  Set({kWhole, kPart});

  EXPECT_EQ(PutPart(1), kWholeHasIt);
}

TEST_F(GrantInboxRivalsTest, WhatIsNobodysRivalAnyMoreIsGranted) {
  (void)PutWhole(0);

  Set({});

  EXPECT_EQ(PutPart(1), kPlain);
}

}  // namespace
}  // namespace tessera
