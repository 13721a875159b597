// SPDX-License-Identifier: Apache-2.0
// Preparations of a device under other names: of its shares, or of its resource.
#include "prepare/preparations.h"
#include "prepare/preparations_under_test.h"

namespace tessera {
namespace {

constexpr char kCardToo[] = "fixture.com/other";

class PreparedDevicesTest : public PreparationsTest {
 protected:
  // Serves a second resource with the same cards, or with cards of equal ids.
  void ServeBoth(bool ids_are_of_hardware) {
    Kind kind = PreparingKind();
    kind.ids_are_of_hardware = ids_are_of_hardware;
    Serve(backend_, kCard, kind);
    Serve(backend_, kCardToo, kind);
  }
  void PrepareTheFirst(const std::vector<std::string>& ids) {
    Hold("uid-1", "app", ids, kOne);
    EXPECT_EQ(Start(ids), "");
    EXPECT_EQ(backend_->Calls(), "prepare 0");
  }
  std::string StartTheOther() {
    offer_ = TwoCards({}, kCardToo, *offer_.devices[0].traits);
    Hold("uid-2", "app", {"0"}, kOther, kCardToo);
    return Start({"0"});
  }

  const std::string undone_ = std::string("unprepare 0 /run/fixture/") + kOne + ", prepare 0";
};

TEST_F(PreparedDevicesTest, WhatWasPreparedForSharesThatAreNoMoreIsUndoneFirst) {
  offer_ = TwoCards({Division::kReplicas, 2});
  PrepareTheFirst({"0::0"});
  Forget();
  offer_ = TwoCards();
  Hold("uid-2", "app", {"0"}, kOther);

  EXPECT_EQ(Start({"0"}), "");

  EXPECT_EQ(backend_->Calls(), undone_);
  EXPECT_EQ(StepOf(kOne), "no entry");
}

TEST_F(PreparedDevicesTest, WhileKubeletNamesItsContainerTheDeviceIsNobodyElses) {
  offer_ = TwoCards({Division::kReplicas, 2});
  PrepareTheFirst({"0::0"});
  offer_ = TwoCards();
  Hold("uid-2", "app", {"0"}, kOther);

  EXPECT_EQ(Start({"0"}),
            "not-unprepared: fixture.com/card: device 0 belongs to another container until pod "
            "uid-1 has ended, which holds 0::0 of fixture.com/card");

  EXPECT_EQ(backend_->Calls(), "");
  EXPECT_EQ(StepOf(kOne), "prepared");
}

TEST_F(PreparedDevicesTest, WhatAnotherResourcePreparedOnTheHardwareIsUndoneFirst) {
  ServeBoth(true);
  PrepareTheFirst({"0"});
  Forget();

  EXPECT_EQ(StartTheOther(), "");

  EXPECT_EQ(backend_->Calls(), undone_);
  EXPECT_EQ(StepOf(kOne), "no entry");
}

TEST_F(PreparedDevicesTest, WhatAnotherResourcePreparedOnWhatTheDeviceTakesIsUndoneFirst) {
  ServeBoth(false);
  offer_ = TwoCards({}, kCard, {.takes = {"slot-0"}});
  PrepareTheFirst({"0"});
  Forget();

  EXPECT_EQ(StartTheOther(), "");

  EXPECT_EQ(backend_->Calls(), undone_);
  EXPECT_EQ(StepOf(kOne), "no entry");
}

TEST_F(PreparedDevicesTest, DevicesOfTheSameIdThatAreOtherHardwareAreOthers) {
  ServeBoth(false);
  PrepareTheFirst({"0"});

  EXPECT_EQ(StartTheOther(), "");

  EXPECT_EQ(backend_->Calls(), "prepare 0");
  EXPECT_EQ(StepOf(kOne), "prepared");
}

// kubelet's ids of shares are the second card's, and the parts are of the cards given.
class PreparedPartsTest : public PreparedDevicesTest {
 protected:
  std::string StartPart(const std::string& pod, const std::string& grant, const std::string& id,
                        const std::string& card) {
    Hold(pod, "app", {id}, grant);
    parts_ = {{.device = card, .memory = 8}};
    return Start({id});
  }
};

TEST_F(PreparedPartsTest, APartThatCannotBeUndoneBlocksNoOtherDeviceOfItsShares) {
  backend_->during_unprepare = [](const UnprepareRequest&) {
    return Fail(Reason::kUnavailable, "it is busy");
  };
  offer_ = TwoCards({Division::kReplicas, 2});
  EXPECT_EQ(StartPart("uid-1", kOne, "1::0", "0"), "");
  Forget();

  EXPECT_EQ(StartPart("uid-2", kOther, "1::0", "1"), "");

  EXPECT_EQ(backend_->Calls(), "prepare 0, prepare 1");
  EXPECT_EQ(StepOf(kOne), "prepared");
  backend_->during_unprepare = nullptr;
}

TEST_F(PreparedPartsTest, AnInitContainersPartOfAnotherDeviceIsUndoneFirst) {
  offer_ = TwoCards({Division::kReplicas, 2});
  EXPECT_EQ(StartPart("uid-1", kOne, "1::0", "0"), "");
  Forget();

  EXPECT_EQ(StartPart("uid-1", kOther, "1::0", "1"), "");

  EXPECT_EQ(backend_->Calls(),
            std::string("prepare 0, unprepare 0 /run/fixture/") + kOne + ", prepare 1");
  EXPECT_EQ(StepOf(kOne), "no entry");
}

TEST_F(PreparedPartsTest, APartWhoseShareIsNoMoreLeavesTheRestOfItsDevice) {
  offer_ = TwoCards({Division::kReplicas, 3});
  EXPECT_EQ(StartPart("uid-1", kOne, "1::2", "0"), "");
  offer_ = TwoCards({Division::kReplicas, 2});

  EXPECT_EQ(StartPart("uid-2", kOther, "0::0", "0"), "");

  EXPECT_EQ(backend_->Calls(), "prepare 0, prepare 0");
  EXPECT_EQ(StepOf(kOne), "prepared");
}

}  // namespace
}  // namespace tessera
