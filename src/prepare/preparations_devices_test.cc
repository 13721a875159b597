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
            "not-unprepared: fixture.com/card: device 0 is another container's until pod uid-1 has "
            "ended, which has 0::0 of fixture.com/card");

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

}  // namespace
}  // namespace tessera
