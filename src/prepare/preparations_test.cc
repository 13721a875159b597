// SPDX-License-Identifier: Apache-2.0
#include "prepare/preparations.h"

#include <latch>

#include "prepare/preparations_under_test.h"

namespace tessera {
namespace {

const std::string kWhole =
    std::string("fixture.com/grant=") + kOne + ": SLOT=/dev/slot0 /dev/card0 /dev/slot0";

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

TEST_F(PreparationsTest, AContainerIsNotMadeAgainWithWhatItsGrantNoLongerHas) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  backend_->Calls();
  Restart();
  backend_->during_check = [](const std::string& grant, const Prepared& prepared) -> Status {
    EXPECT_EQ(grant, kOne);
    EXPECT_EQ(prepared.edits.nodes.at(0).path, "/dev/slot0");
    return Fail(Reason::kVanished, "/dev/slot0 is another's: delete the pod");
  };

  EXPECT_EQ(Start({"0"}),
            "vanished: fixture.com/card: device 0: /dev/slot0 is another's: delete the pod");

  EXPECT_EQ(backend_->Calls(), "");
  EXPECT_EQ(StepOf(kOne), "prepared");
  backend_->during_check = nullptr;
  EXPECT_EQ(Start({"0"}), "");
}

TEST_F(PreparationsTest, APreparerThatDoesNotTellWhatAGrantHasKeepsItsContainerAlone) {
  Hold("uid-1", "app", {"0"}, kOne);
  Hold("uid-2", "app", {"1"}, kOther);
  EXPECT_EQ(Start({"0"}), "");
  std::latch begun(1);
  std::latch end(1);
  backend_->during_check = [&](const std::string&, const Prepared&) -> Status {
    begun.count_down();
    end.wait();
    return {};
  };
  std::future<Status> late = BeginStart({"0"});
  begun.wait();
  EXPECT_EQ(Start({"1"}), "");
  clock_.Advance(Preparations::kDeadline);
  preparations_->Tick();

  EXPECT_EQ(Text(late.get()),
            "prepare-timed-out: fixture.com/card: device 0 was not ready after 20s");
  end.count_down();
  Settle();
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
  EXPECT_TRUE(Start({"0"}).starts_with(
      "grant-unknown: fixture.com/card: kubelet's checkpoint does not identify the container: "));
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
      Start({"0"}).starts_with("not-prepared: fixture.com/card: device 0 was made ready with edits "
                               "that no runtime accepts: "));

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
            "fixture.com/card/0: not-unprepared: it was not restored after its last container: the "
            "agent ended first\n");
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

}  // namespace
}  // namespace tessera
