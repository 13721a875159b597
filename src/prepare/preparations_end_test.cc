// SPDX-License-Identifier: Apache-2.0
#include <latch>

#include "prepare/preparations_under_test.h"

namespace tessera {
namespace {

TEST_F(PreparationsTest, WhatIsNotUndoneIsTriedAgainEverLessOftenAndKeepsNoOtherUp) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  backend_->Calls();
  std::atomic<int> left = 3;
  backend_->during_unprepare = [&](const UnprepareRequest& request) -> Status {
    if (request.devices.front() == "1" || left-- == 0) return {};
    return Fail(Reason::kIo, "the slot is stuck");
  };
  ForgetForGood();
  const std::string told =
      "fixture.com/card/0: not-unprepared: it was not restored after its last container: the slot "
      "is stuck\n";
  for (const Duration pause : {Duration(1'000), Duration(2'000), Duration(4'000)}) {
    Await([&] { return preparations_->Tick() == clock_.Now() + pause; });
    EXPECT_EQ(Outstanding(), told);
    EXPECT_EQ(StepOf(kOne), "unpreparing");
    EXPECT_EQ(backend_->Calls(), kUnprepared);
    Hold("uid-2", "app", {"1"}, kOther);
    EXPECT_EQ(Start({"1"}), "");
    Forget();
    backend_->Calls();
    clock_.Advance(pause);
    preparations_->Tick();
  }
  Await([&] { return Outstanding().empty(); });

  EXPECT_EQ(backend_->Calls(), kUnprepared);
  EXPECT_EQ(StepOf(kOne), "no entry");
}

TEST_F(PreparationsTest, ADeviceThatIsNotBackIsPreparedForNobody) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  backend_->during_unprepare = [](const UnprepareRequest&) -> Status {
    return Fail(Reason::kIo, "the slot is stuck");
  };
  Forget();
  Hold("uid-2", "app", {"0"}, kOther);

  EXPECT_EQ(Start({"0"}),
            "not-unprepared: fixture.com/card: device 0: it was not restored after its last "
            "container: the slot is stuck");

  EXPECT_EQ(StepOf(kOther), "no entry");
  EXPECT_EQ(StepOf(kOne), "unpreparing");
  backend_->during_unprepare = nullptr;
  EXPECT_EQ(Start({"0"}), "");
  EXPECT_EQ(StepOf(kOne), "no entry");
}

TEST_F(PreparationsTest, WhatHangsWhileItIsUndoneIsToldAndKeepsNoOtherUp) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  std::latch begun(1);
  std::latch end(1);
  backend_->during_unprepare = [&](const UnprepareRequest&) {
    begun.count_down();
    end.wait();
    return Status();
  };
  ForgetForGood();
  begun.wait();
  EXPECT_EQ(preparations_->Tick(), clock_.Now() + Preparations::kHangs);
  EXPECT_EQ(Outstanding(), "");
  clock_.Advance(Preparations::kHangs);
  EXPECT_EQ(preparations_->Tick(), std::nullopt);

  EXPECT_EQ(Outstanding(),
            "fixture.com/card/0: not-unprepared: it was not restored after its last container: "
            "that takes longer than 10s\n");
  Hold("uid-2", "app", {"1"}, kOther);
  EXPECT_EQ(Start({"1"}), "");
  Hold("uid-3", "app", {"0"}, "00000000000000000000000000000003");
  EXPECT_EQ(Start({"0"}),
            "not-unprepared: fixture.com/card: device 0 is still being restored after an earlier "
            "container");
  end.count_down();
  Await([this] { return Outstanding().empty(); });
  EXPECT_EQ(Start({"0"}), "");
}

TEST_F(PreparationsTest, AResourceThatIsServedNoMoreIsUndoneByItsBackend) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  preparations_->Retire(kCard);
  preparations_->RemoveForgotten();

  ForgetForGood();
  AwaitNothingLeft();

  EXPECT_EQ(backend_->Calls(), "prepare 0, " + kUnprepared);
  Settle();
  const std::weak_ptr<PreparingBackend> former = std::exchange(backend_, nullptr);
  EXPECT_FALSE(former.expired());
  preparations_->RemoveForgotten();
  EXPECT_TRUE(former.expired()) << "nothing is left that it has prepared";
}

TEST_F(PreparationsTest, OnlyAPreparerOfThatNameUndoesIt) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  End();
  const auto slot = std::exchange(backend_, std::make_shared<PreparingBackend>("drawer"));
  slot->Calls();
  Begin();

  ForgetForGood();
  Await([this] { return !Outstanding().empty(); });

  EXPECT_EQ(backend_->Calls(), "");
  EXPECT_EQ(Outstanding(),
            "fixture.com/card/0: not-unprepared: it was not restored after its last container: no "
            "configured resource undoes what 'slot' has prepared; configure fixture.com/card as "
            "before until that is done\n");
  Settle();
  Serve(slot);
  preparations_->Tick();
  AwaitNothingLeft();
  EXPECT_EQ(slot->Calls(), kUnprepared);
}

TEST_F(PreparationsTest, WhileAnotherInstancePreparesContainersWait) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  const auto first = std::exchange(preparations_, nullptr);
  Begin();

  EXPECT_TRUE(Start({"0"}).starts_with("state-locked: "));
  preparations_->RemoveForgotten();

  EXPECT_FALSE(preparations_->AnyLeft());
  EXPECT_EQ(backend_->Calls(), "prepare 0");
}

}  // namespace
}  // namespace tessera
