// SPDX-License-Identifier: Apache-2.0
// The standing that follows from entries, unreadable entries, and directories that cannot be
// written.
#include <future>
#include <latch>
#include <memory>
#include <mutex>

#include "base/captured_log_test.h"
#include "prepare/preparations.h"
#include "prepare/preparations_under_test.h"

namespace tessera {
namespace {

class StandingTest : public PreparationsTest {
 protected:
  // Leaves an entry of another agent, and starts a new agent.
  void Leave(const std::string& text) {
    End();
    EXPECT_TRUE(os::MakeDirectories(directory_ + "/state/prepared"));
    EXPECT_TRUE(os::ReplaceFile(EntryPath(kOne), text));
    Begin();
    EXPECT_TRUE(preparations_->Load());
  }
  // Waits for the test of the directories, and for what it logs; returns its errors.
  std::string AwaitObstacles() {
    preparations_->Tick();
    Await([this] { return !preparations_->standing().obstacles.empty(); });
    Settle();
    return Obstacles();
  }
  void AwaitNoObstacle() {
    clock_.Advance(Preparations::kFirstPause);
    preparations_->Tick();
    Await([this] { return preparations_->standing().obstacles.empty(); });
  }
  std::string Unread(const std::string& why) const {
    return EntryPath(kOne) + " records a preparation and cannot be read: " + why;
  }
};

TEST_F(StandingTest, ADeviceIsHeldFromBeforeItIsPreparedUntilItIsBack) {
  Hold("uid-1", "app", {"0"}, kOne);
  const std::string held = "fixture.com/card/0 ";
  backend_->during_prepare = [&](const PrepareRequest&) { EXPECT_EQ(Held(), held); };
  EXPECT_EQ(Start({"0"}), "");
  EXPECT_EQ(Held(), held);
  backend_->during_unprepare = [&](const UnprepareRequest&) {
    EXPECT_EQ(Held(), held);
    return Status();
  };

  ForgetForGood();
  AwaitNothingLeft();

  EXPECT_EQ(Held(), "");
}

TEST_F(StandingTest, TheLoopDoesNotWaitWhileTheJournalIsRead) {
  End();
  EXPECT_TRUE(os::MakeDirectories(directory_ + "/state/prepared"));
  EXPECT_TRUE(os::ReplaceFile(EntryPath(kOne), "{"));
  Begin();
  std::latch reads(1);
  std::latch end(1);
  std::once_flag first;
  log::SetSink([&](std::string_view) {
    std::call_once(first, [&] {
      reads.count_down();
      end.wait();
    });
  });
  const auto loading = std::async(std::launch::async, [this] { return preparations_->Load(); });
  reads.wait();

  const auto loop = std::async(std::launch::async, [this] {
    preparations_->standing();
    return preparations_->AnyLeft();
  });
  EXPECT_EQ(loop.wait_for(std::chrono::seconds(20)), std::future_status::ready);

  end.count_down();
  loading.wait();
  log::SetSink(nullptr);
}

TEST_F(StandingTest, DevicesOfAnEntryThatCannotBeReadAreOutAndNoOthers) {
  const std::string text =
      R"({"version": 2, "resource": "fixture.com/card", "devices": ["0"], "grant": 7})";
  const std::string why = Unread("it has version 2, this agent reads 1");
  CapturedLog told;
  Leave(text);
  Hold("uid-1", "app", {"1"}, "00000000000000000000000000000003");
  Hold("uid-2", "app", {"0"}, kOther);

  EXPECT_EQ(Held(), "fixture.com/card/0 ");
  EXPECT_EQ(Outstanding(), "fixture.com/card/0: journal-unreadable: " + why + "\n");
  EXPECT_EQ(Obstacles(), "");
  EXPECT_EQ(Faults(), why + "\n");
  EXPECT_EQ(Start({"1"}), "");
  EXPECT_EQ(Start({"0"}), "journal-unreadable: " + why);
  EXPECT_TRUE(told.text().starts_with(
      "ERROR cannot read a grant's preparation, so it is not undone grant=" + std::string(kOne)))
      << told.text();
  EXPECT_EQ(os::ReadFile(EntryPath(kOne)), text);
}

TEST_F(StandingTest, AnEntryThatCannotBeReadIsNotOverwrittenByItsOwnContainer) {
  const std::string text = R"({"version": 2, "resource": "fixture.com/card", "devices": ["1"]})";
  Leave(text);
  Hold("uid-1", "app", {"0"}, kOne);

  EXPECT_EQ(Start({"0"}), "journal-unreadable: " + Unread("it has version 2, this agent reads 1"));

  EXPECT_EQ(os::ReadFile(EntryPath(kOne)), text);
}

TEST_F(StandingTest, WhereAnEntrySaysNothingEveryResourceThatPreparesIsOutUntilItIsRemoved) {
  Leave(R"({"version": 1})");
  Hold("uid-1", "app", {"0"}, kOther);
  const std::string why = Unread("it does not say what is prepared");
  EXPECT_EQ(Obstacles(), "fixture.com/card: journal-unreadable: " + why + "\n");
  EXPECT_EQ(Start({"0"}), "journal-unreadable: " + why);

  EXPECT_TRUE(os::RemoveFile(EntryPath(kOne)));
  preparations_->RemoveForgotten();

  EXPECT_EQ(Obstacles(), "");
  EXPECT_EQ(Start({"0"}), "");
}

TEST_F(StandingTest, AnEntryThatCanBeReadAgainIsTakenIn) {
  Leave("");
  const Journal journal(directory_ + "/state");
  ASSERT_TRUE(journal.Write(
      {.grant = kOne, .grants = {kOne}, .resource = kCard, .preparer = "slot", .devices = {"0"}}));

  preparations_->RemoveForgotten();

  EXPECT_EQ(Obstacles(), "");
  EXPECT_EQ(Held(), "fixture.com/card/0 ");
}

TEST_F(StandingTest, AnEntryThatSaysItsResourceAloneConcernsNoOther) {
  Leave(R"({"version": 1, "resource": "fixture.com/other"})");
  Hold("uid-1", "app", {"0"}, kOther);

  EXPECT_EQ(Obstacles(), "");
  EXPECT_EQ(Start({"0"}), "");
}

TEST_F(StandingTest, AJournalThatIsNoDirectoryIsKnownBeforeAContainerComes) {
  End();
  EXPECT_TRUE(os::MakeDirectories(directory_ + "/state"));
  EXPECT_TRUE(os::ReplaceFile(directory_ + "/state/prepared", ""));
  CapturedLog told;
  Begin();

  const std::string obstacles = AwaitObstacles();
  EXPECT_TRUE(
      obstacles.starts_with("fixture.com/card: io: nothing can be prepared for containers: "))
      << obstacles;
  EXPECT_NE(obstacles.find(directory_ + "/state/prepared"), std::string::npos) << obstacles;
  EXPECT_TRUE(
      told.text().starts_with("ERROR nothing can be prepared for grants: all devices are "
                              "offered as unhealthy resource=fixture.com/card"))
      << told.text();

  EXPECT_TRUE(os::RemoveFile(directory_ + "/state/prepared"));
  AwaitNoObstacle();
}

TEST_F(StandingTest, ACdiDirectoryThatCannotBeWrittenIsKnownBeforeAContainerComes) {
  EXPECT_TRUE(os::ReplaceFile(directory_ + "/cdi", ""));

  const std::string obstacles = AwaitObstacles();
  EXPECT_TRUE(
      obstacles.starts_with("fixture.com/card: io: nothing can be prepared for containers: "))
      << obstacles;
  EXPECT_NE(obstacles.find(directory_ + "/cdi"), std::string::npos) << obstacles;
  EXPECT_EQ(backend_->Calls(), "");

  EXPECT_TRUE(os::RemoveFile(directory_ + "/cdi"));
  AwaitNoObstacle();
  EXPECT_EQ(os::ListDirectory(directory_ + "/cdi"), std::vector<std::string>());
}

TEST_F(StandingTest, ADirectoryThatGoesBadIsKnownWithTheContainerThatMeetsIt) {
  preparations_->Tick();
  Settle();
  EXPECT_EQ(Obstacles(), "");
  EXPECT_TRUE(os::RemoveTree(directory_ + "/cdi"));
  EXPECT_TRUE(os::ReplaceFile(directory_ + "/cdi", ""));
  Hold("uid-1", "app", {"0"}, kOne);

  EXPECT_NE(Start({"0"}), "");

  EXPECT_NE(AwaitObstacles(), "");
}

TEST_F(StandingTest, WhatNothingThatIsConfiguredUndoesIsToldAndAFaultOnceItIsDue) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  End();
  backend_ = std::make_shared<PreparingBackend>("drawer");
  Begin();
  CapturedLog told;

  preparations_->RemoveForgotten();
  preparations_->RemoveForgotten();

  const std::string why =
      "no configured resource undoes what 'slot' has prepared; configure fixture.com/card as "
      "before until that is done";
  EXPECT_EQ(
      told.Take(),
      std::string("WARN a grant's preparation cannot be undone resource=fixture.com/card grant=") +
          kOne + " uid=uid-1 devices=0 reason=not-unprepared error=\"" + why + "\" advice=\"" +
          std::string(ReasonAdvice(Reason::kNotUnprepared)) + "\"\n");
  EXPECT_EQ(Faults(), "") << "its container runs";
  ForgetForGood();
  Await([this] { return !Outstanding().empty(); });
  EXPECT_EQ(Faults(), "fixture.com/card: device 0: it was not restored after its last container: " +
                          why + "\n");
}

class PlainBackend : public PreparingBackend {
 public:
  Preparer* preparer() override { return nullptr; }
};

TEST_F(StandingTest, WhatItsResourceDoesNotPrepareAnyMoreIsLeftUntilItIsUndone) {
  Hold("uid-1", "app", {"0"}, kOne);
  EXPECT_EQ(Start({"0"}), "");
  EXPECT_EQ(preparations_->standing().left.size(), 0U);

  Serve(std::make_shared<PlainBackend>(), kCard, Kind());

  EXPECT_EQ(preparations_->standing().left,
            (std::set<DeviceKey, DeviceKeyLess>{{.source = kCard, .id = "0"}}));
  ForgetForGood();
  AwaitNothingLeft();
  EXPECT_EQ(preparations_->standing().left.size(), 0U);
}

// A kind and its backend must agree.

TEST_F(StandingTest, ABackendThatPreparesAgainstTheWordOfItsKindIsAnObstacle) {
  Serve(backend_, kCard, Kind());

  EXPECT_EQ(Obstacles(),
            "fixture.com/card: internal: its backend prepares for grants, but its kind does not "
            "say so\n");
  Serve(backend_);
  EXPECT_EQ(Obstacles(), "");
}

TEST_F(StandingTest, ABackendThatCannotPrepareAgainstTheWordOfItsKindIsAnObstacle) {
  Serve(std::make_shared<PlainBackend>());

  EXPECT_EQ(Obstacles(),
            "fixture.com/card: internal: its kind says that it prepares for grants, but its "
            "backend cannot\n");
}

}  // namespace
}  // namespace tessera
