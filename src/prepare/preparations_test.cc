// SPDX-License-Identifier: Apache-2.0
#include "prepare/preparations.h"

#include <latch>

#include "prepare/preparations_under_test.h"

namespace tessera {
namespace {

const std::string kWhole =
    std::string("fixture.com/grant=") + kOne + ": SLOT=/dev/slot0 /dev/card0 /dev/slot0";
const std::string kUnprepared = std::string("unprepare 0 /run/fixture/") + kOne;

TEST_F(PreparationsTest, AContainerGetsItsDevicesAndWhatWasPrepared) {
  Hold("uid-1", "app", {"0"}, kOne);
  backend_->during_prepare = [this](const PrepareRequest& request) {
    EXPECT_EQ(request.grant, kOne);
    EXPECT_EQ(request.pod_uid, "uid-1");
    EXPECT_EQ(request.share_ids, std::vector<std::string>{"0"});
    EXPECT_EQ(request.devices, std::vector{offer_.devices[0]});
    EXPECT_EQ(request.deadline, clock_.Now() + Preparations::kDeadline);
    EXPECT_TRUE(request.wanted());
    EXPECT_EQ(StepOf(kOne), "preparing");
    EXPECT_EQ(DocumentOf(kOne), "no document");
  };

  EXPECT_EQ(Start({"0"}), "");

  EXPECT_EQ(DocumentOf(kOne), kWhole);
  EXPECT_EQ(StepOf(kOne), "prepared");
  EXPECT_EQ(backend_->Calls(), "prepare 0");
  EXPECT_EQ(Outstanding(), "");
}

TEST_F(PreparationsTest, TheTimeToPrepareBeganWithKubeletsCall) {
  Hold("uid-1", "app", {"0"}, kOne);
  waited_ = Duration(5'000);
  backend_->during_prepare = [this](const PrepareRequest& request) {
    EXPECT_EQ(request.deadline, clock_.Now() - Duration(5'000) + Preparations::kDeadline);
  };

  EXPECT_EQ(Start({"0"}), "");
}

TEST_F(PreparationsTest, AContainerThatIsMadeAgainFindsItPrepared) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  EXPECT_EQ(backend_->Calls(), "prepare 0");
  EXPECT_TRUE(os::RemoveFile(directory_ + "/cdi/" + GrantFileName(kOne)));

  EXPECT_EQ(Start({"0"}), "");
  EXPECT_EQ(DocumentOf(kOne), kWhole);
  Restart();
  offer_ = Offer();  // the next scan has not found it yet
  offer_.resource = kCard;
  EXPECT_EQ(Start({"0"}), "");

  EXPECT_EQ(backend_->Calls(), "");
}

TEST_F(PreparationsTest, WhatKubeletHasForgottenForAMinuteIsUndone) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  preparations_->RemoveForgotten();
  Forget();
  preparations_->RemoveForgotten();
  clock_.Advance(Preparations::kForgotten - Duration(1));
  preparations_->RemoveForgotten();
  EXPECT_EQ(backend_->Calls(), "prepare 0");

  backend_->during_unprepare = [this](const UnprepareRequest&) {
    EXPECT_EQ(StepOf(kOne), "unpreparing");
    EXPECT_EQ(DocumentOf(kOne), "no document");
    return Status();
  };
  clock_.Advance(Duration(1));
  preparations_->RemoveForgotten();
  AwaitNothingLeft();

  EXPECT_EQ(backend_->Calls(), kUnprepared);
  EXPECT_EQ(StepOf(kOne), "no entry");
}

TEST_F(PreparationsTest, WhatKubeletNamesAgainIsNotForgotten) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  const kubelet::Checkpoint held = checkpoint_;
  Forget();
  preparations_->RemoveForgotten();
  clock_.Advance(Preparations::kForgotten);
  checkpoint_ = held;
  Save();
  preparations_->RemoveForgotten();
  Forget();
  preparations_->RemoveForgotten();
  EXPECT_TRUE(os::RemoveFile(directory_ + "/kubelet/kubelet_internal_checkpoint"));
  clock_.Advance(Preparations::kForgotten);
  preparations_->RemoveForgotten();

  EXPECT_EQ(StepOf(kOne), "prepared");
}

TEST_F(PreparationsTest, AnInitContainerAndTheNextWithItsSharesHaveItTogether) {
  Hold("uid-1", "init", {"0"}, kOther);
  Hold("uid-1", "app", {"0"}, kOne);

  EXPECT_EQ(Start({"0"}), "");
  EXPECT_EQ(Start({"0"}), "");

  EXPECT_EQ(backend_->Calls(), "prepare 0");
  EXPECT_EQ(DocumentOf(kOne), kWhole);
  EXPECT_TRUE(DocumentOf(kOther).starts_with(std::string("fixture.com/grant=") + kOther));
  ForgetForGood();
  AwaitNothingLeft();
  EXPECT_EQ(backend_->Calls(), kUnprepared);
  EXPECT_EQ(DocumentOf(kOther), "no document");
}

TEST_F(PreparationsTest, ASharePreparedForAnotherGrantIsBroughtBackFirst) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  Forget();
  Hold("uid-2", "app", {"1", "0"}, kOther);

  EXPECT_EQ(Start({"0", "1"}), "");

  EXPECT_EQ(backend_->Calls(), "prepare 0, " + kUnprepared + ", prepare 0");
  EXPECT_EQ(StepOf(kOne), "no entry");
  EXPECT_EQ(DocumentOf(kOne), "no document");
  EXPECT_EQ(StepOf(kOther), "prepared");
}

TEST_F(PreparationsTest, SharesOfOneDeviceArePreparedEachForItsGrant) {
  offer_ = TwoCards({Division::kReplicas, 2});
  Hold("uid-1", "app", {"0::0"}, kOne);
  Hold("uid-2", "app", {"0::1"}, kOther);

  EXPECT_EQ(Start({"0::0"}), "");
  EXPECT_EQ(Start({"0::1"}), "");

  EXPECT_EQ(backend_->Calls(), "prepare 0, prepare 0");
}

TEST_F(PreparationsTest, AContainerOfNobodyIsNotMade) {
  EXPECT_EQ(Start({"0"}),
            "grant-unknown: fixture.com/card: no container in kubelet's checkpoint holds 0");
  EXPECT_TRUE(os::RemoveFile(directory_ + "/kubelet/kubelet_internal_checkpoint"));
  EXPECT_TRUE(
      Start({"0"}).starts_with("grant-unknown: fixture.com/card: kubelet's checkpoint does "
                               "not say which container this is: "));
  EXPECT_EQ(backend_->Calls(), "");
}

TEST_F(PreparationsTest, AContainerOfAFormerPluginIsAsItIs) {
  Hold("uid-1", "app", {"0"}, "");

  EXPECT_EQ(Start({"0"}), "");

  EXPECT_EQ(backend_->Calls(), "");
}

TEST_F(PreparationsTest, WhatFailsIsUndoneAndRefused) {
  Hold("uid-1", "app", {"0"}, kOne);
  backend_->yields = Fail(Reason::kIo, "the slot is stuck");

  EXPECT_EQ(Start({"0"}),
            "not-prepared: fixture.com/card: device 0 could not be made ready: the slot is stuck");

  EXPECT_EQ(backend_->Calls(), "prepare 0, unprepare 0");
  EXPECT_EQ(StepOf(kOne), "no entry");
  EXPECT_FALSE(preparations_->AnyLeft());
  backend_->yields.reset();
  EXPECT_EQ(Start({"0"}), "");
}

TEST_F(PreparationsTest, WhatNoRuntimeTakesIsUndone) {
  Hold("uid-1", "app", {"0"}, kOne);
  backend_->yields = Prepared{.edits = {.env = {"NO_VALUE"}}};

  EXPECT_TRUE(
      Start({"0"}).starts_with("not-prepared: fixture.com/card: device 0 was made ready "
                               "with what no runtime takes: "));

  EXPECT_EQ(backend_->Calls(), "prepare 0, unprepare 0");
  EXPECT_EQ(StepOf(kOne), "no entry");
}

TEST_F(PreparationsTest, WhatComesLateIsRefusedInTimeAndUndone) {
  Hold("uid-1", "app", {"0"}, kOne);
  Hold("uid-2", "app", {"1"}, kOther);
  std::latch begun(1);
  std::latch end(1);
  backend_->during_prepare = [&](const PrepareRequest& request) {
    if (request.grant != kOne) return;
    begun.count_down();
    end.wait();
    EXPECT_FALSE(request.wanted());
  };
  std::future<Status> late = BeginStart({"0"});
  begun.wait();
  EXPECT_EQ(preparations_->Tick(), clock_.Now() + Preparations::kDeadline);
  clock_.Advance(Preparations::kDeadline);
  EXPECT_EQ(preparations_->Tick(), std::nullopt);

  EXPECT_EQ(Text(late.get()),
            "prepare-timed-out: fixture.com/card: device 0 was not ready after 20s");
  EXPECT_EQ(Start({"0"}),
            "prepare-timed-out: fixture.com/card: device 0 is still being made ready");
  EXPECT_EQ(Start({"1"}), "") << "another device's";
  end.count_down();
  Await([this] { return StepOf(kOne) == "no entry"; });
  EXPECT_EQ(backend_->Calls(), "prepare 0, prepare 1, unprepare 0");
  EXPECT_EQ(DocumentOf(kOne), "no document");
}

TEST_F(PreparationsTest, NothingIsPreparedForACallThatNobodyWaitsForAnyMore) {
  Hold("uid-1", "app", {"0"}, kOne);

  EXPECT_EQ(Text(BeginStart({"0"}, [] { return false; }).get()),
            "prepare-timed-out: fixture.com/card: device 0 was not made ready in time");

  EXPECT_EQ(backend_->Calls(), "");
  EXPECT_EQ(StepOf(kOne), "no entry");
}

TEST_F(PreparationsTest, WhatKubeletForgetsWhileItIsPreparedIsUndoneThen) {
  Hold("uid-1", "app", {"0"}, kOne);
  std::atomic<bool> wanted = true;
  std::latch begun(1);
  std::latch end(1);
  backend_->during_prepare = [&](const PrepareRequest&) {
    begun.count_down();
    end.wait();
  };
  std::future<Status> start = BeginStart({"0"}, [&] { return wanted.load(); });
  begun.wait();
  Forget();
  preparations_->RemoveForgotten();
  wanted = false;  // the pod was deleted
  EXPECT_EQ(backend_->Calls(), "prepare 0");
  end.count_down();

  EXPECT_EQ(Text(start.get()),
            "prepare-timed-out: fixture.com/card: device 0 was not made ready in time");
  AwaitNothingLeft();
  EXPECT_EQ(backend_->Calls(), "unprepare 0");
}

// Crashes: another agent begins over the same directory.

TEST_F(PreparationsTest, AfterACrashWhilePreparingItIsUndoneAndPreparedAnew) {
  Hold("uid-1", "app", {"0"}, kOne);
  std::string text;
  backend_->during_prepare = [&](const PrepareRequest&) { text = *os::ReadFile(EntryPath(kOne)); };
  EXPECT_EQ(Start({"0"}), "");
  backend_->during_prepare = nullptr;
  backend_->Calls();
  End();
  EXPECT_TRUE(os::ReplaceFile(EntryPath(kOne), text));
  Begin();

  EXPECT_EQ(Start({"0"}), "");

  EXPECT_EQ(backend_->Calls(), "unprepare 0, prepare 0");
  EXPECT_EQ(DocumentOf(kOne), kWhole);
}

TEST_F(PreparationsTest, AfterACrashWhilePreparingWhatKubeletForgetsIsUndone) {
  Hold("uid-1", "app", {"0"}, kOne);
  std::string text;
  backend_->during_prepare = [&](const PrepareRequest&) { text = *os::ReadFile(EntryPath(kOne)); };
  EXPECT_EQ(Start({"0"}), "");
  backend_->Calls();
  End();
  EXPECT_TRUE(os::ReplaceFile(EntryPath(kOne), text));
  Begin();

  ForgetForGood();
  AwaitNothingLeft();

  EXPECT_EQ(backend_->Calls(), "unprepare 0");
  EXPECT_EQ(StepOf(kOne), "no entry");
}

TEST_F(PreparationsTest, AfterACrashBeforeTheDocumentThatAloneIsWritten) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  backend_->Calls();
  End();
  EXPECT_TRUE(os::RemoveFile(directory_ + "/cdi/" + GrantFileName(kOne)));
  Begin();

  EXPECT_EQ(Start({"0"}), "");

  EXPECT_EQ(DocumentOf(kOne), kWhole);
  EXPECT_EQ(backend_->Calls(), "");
}

TEST_F(PreparationsTest, AfterACrashWhileItIsUndoneThatIsDoneWithoutKubelet) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  std::string text;
  backend_->during_unprepare = [&](const UnprepareRequest&) {
    text = *os::ReadFile(EntryPath(kOne));
    return Status();
  };
  ForgetForGood();
  AwaitNothingLeft();
  backend_->Calls();
  End();
  EXPECT_TRUE(os::ReplaceFile(EntryPath(kOne), text));
  Begin();

  EXPECT_TRUE(preparations_->Load());
  EXPECT_EQ(Outstanding(),
            "fixture.com/card/0: not-unprepared: it is not back from its last container: the agent "
            "ended meanwhile\n");
  preparations_->Tick();
  AwaitNothingLeft();

  EXPECT_EQ(backend_->Calls(), kUnprepared);
  EXPECT_EQ(Outstanding(), "");
}

TEST_F(PreparationsTest, AfterARebootNothingIsPrepared) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  backend_->Calls();
  End();
  Preparation entry = ReadPreparation(*os::ReadFile(EntryPath(kOne))).value();
  entry.boot_id = "the boot before";
  EXPECT_TRUE(os::ReplaceFile(EntryPath(kOne), PreparationText(entry)));
  Begin();

  EXPECT_EQ(Start({"0"}), "");

  EXPECT_EQ(backend_->Calls(), kUnprepared + ", prepare 0");
}

// The undo.

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
      "fixture.com/card/0: not-unprepared: it is not back from its last container: the slot is "
      "stuck\n";
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
            "not-unprepared: fixture.com/card: device 0: it is not back from its last container: "
            "the slot is stuck");

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

  EXPECT_EQ(
      Outstanding(),
      "fixture.com/card/0: not-unprepared: it is not back from its last container: that takes "
      "longer than 10s\n");
  Hold("uid-2", "app", {"1"}, kOther);
  EXPECT_EQ(Start({"1"}), "");
  Hold("uid-3", "app", {"0"}, "00000000000000000000000000000003");
  EXPECT_EQ(
      Start({"0"}),
      "not-unprepared: fixture.com/card: device 0 is still being brought back from an earlier "
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
            "fixture.com/card/0: not-unprepared: it is not back from its last container: nothing "
            "that is configured undoes what 'slot' has prepared: configure fixture.com/card as it "
            "was until that is done\n");
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
