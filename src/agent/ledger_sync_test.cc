// SPDX-License-Identifier: Apache-2.0
#include "agent/ledger_sync.h"

#include <gtest/gtest.h>

#include "agent/grants_page.h"
#include "api/server.h"
#include "base/captured_log_test.h"
#include "kubelet/checkpoint.h"
#include "node/node_under_test.h"
#include "os/files.h"
#include "podresources/server.h"

namespace tessera::agent {
namespace {

using Allocatable = std::optional<std::map<std::string, int>>;
using Holdings = std::vector<Holding>;
using Ids = std::vector<std::string>;

constexpr Duration kPatience{20'000};
constexpr Duration kNever{3'600'000};  // no test takes so long
constexpr Duration kAtOnce{0};

Holding Held(const std::string& pod, const Ids& ids, const std::string& uid = "",
             const std::string& container = "main") {
  return {pod.empty() ? "" : "default", pod, uid, container, kSource, ids};
}

kubelet::CheckpointEntry Entry(const std::string& uid, const std::string& container,
                               const Ids& ids) {
  return {uid, container, kSource, {{"-1", ids}}, ""};
}

// A loop, a node and kubelet's directory, with a pod-resources API in it where the test wants one.
class LedgerSyncTest : public testing::Test {
 protected:
  LedgerSyncTest() { EXPECT_TRUE(os::MakeDirectories(directories_.device_plugins())); }
  ~LedgerSyncTest() override { (void)os::RemoveTree(directories_.root); }

  void StartKubelet() {
    EXPECT_TRUE(os::MakeDirectories(directories_.pod_resources()));
    kubelet_ = std::make_unique<fake::PodResources>(directories_.pod_resources_socket());
  }
  void EndKubelet() {
    kubelet_.reset();
    EXPECT_TRUE(os::RemoveTree(directories_.pod_resources()));
  }
  void Tell(const Holdings& holdings, Ids allocatable = {}) {
    kubelet_->Set({holdings, {{{kSource, std::move(allocatable)}}}});
  }
  void WriteCheckpoint(std::vector<kubelet::CheckpointEntry> entries) {
    WriteCheckpoint(kubelet::WriteCheckpoint({std::move(entries), {}}));
  }
  void WriteCheckpoint(const std::string& text) {
    EXPECT_TRUE(
        os::ReplaceFile(directories_.device_plugins() + "/" + kubelet::kCheckpointFile, text));
  }

  void Begin(Duration interval = kNever) {
    sync_ = std::make_unique<LedgerSync>(
        loop_, workers_, node_.node_, metrics_, directories_, interval,
        LedgerSync::Listener{
            .changed = [this] { ++changed_; },
            .waiting = [] { return false; },
            .eager = [] { return false; },
            .compared =
                [this](const Allocatable& allocatable) { compared_.push_back(allocatable); }});
    sync_->SetResources({kSource});
  }
  bool RunUntil(const std::function<bool()>& done) {
    return fake::RunUntil(loop_, kPatience, done);
  }
  // Runs everything that is due now.
  void Pass() {
    bool passed = false;
    const auto timer = loop_.After(Duration(1), [&] { passed = true; });
    EXPECT_TRUE(RunUntil([&] { return passed; }));
  }
  // Asks, and waits for the result.
  void Ask() {
    const int before = Answers();
    sync_->AskSoon(kAtOnce);
    EXPECT_TRUE(RunUntil([&] { return Answers() > before; }));
  }
  // Counts good and failed answers.
  int Answers() const {
    int answers = 0;
    for (const char* result : {"good", "failed"}) answers += Count("reconciliations", result);
    return answers;
  }
  int Count(const std::string& what, const std::string& label) const {
    const std::string text = metrics_.Expose();
    const std::string head = "tessera_ledger_" + what + "_total{";
    for (size_t at = text.find(head); at != std::string::npos; at = text.find(head, at + 1)) {
      const std::string line = text.substr(at, text.find('\n', at) - at);
      if (line.find('"' + label + '"') == std::string::npos) continue;
      return std::stoi(line.substr(line.rfind(' ')));
    }
    return 0;
  }
  Ledger& ledger() { return node_.node_.ledger(); }

  os::Loop loop_;
  os::Workers workers_{2};
  http::Metrics metrics_;
  NodeUnderTest node_;
  const kubelet::Directories directories_{
      *os::MakeTemporaryDirectory(testing::TempDir() + "ledger-sync")};
  std::unique_ptr<fake::PodResources> kubelet_;
  int changed_ = 0;
  std::vector<Allocatable> compared_;
  std::unique_ptr<LedgerSync> sync_;
};

TEST_F(LedgerSyncTest, KubeletTellsWhoHoldsWhatAndHowMuchItCanHandOut) {
  StartKubelet();
  Tell({Held("a", {"1", "2"})}, {"1", "2", "3"});
  Begin();

  Ask();

  EXPECT_EQ(ledger().holdings(), Holdings{Held("a", {"1", "2"})});
  EXPECT_TRUE(ledger().reconciled(kSource));
  EXPECT_EQ(compared_, (std::vector<Allocatable>{{{{kSource, 3}}}}));
  EXPECT_EQ(changed_, 1);
  EXPECT_EQ(sync_->error(), std::nullopt);
}

TEST_F(LedgerSyncTest, WhatKubeletCanHandOutIsUnknownWhereItDoesNotSay) {
  StartKubelet();
  kubelet_->Set({.holdings = {}, .allocatable = std::nullopt});
  Begin();

  Ask();

  EXPECT_EQ(compared_, std::vector<Allocatable>{std::nullopt});
  EXPECT_EQ(Count("reconciliations", "good"), 1);
}

TEST_F(LedgerSyncTest, TheCheckpointAddsUidsAndInitContainers) {
  StartKubelet();
  Tell({Held("a", {"1"})});
  WriteCheckpoint({Entry("uid-a", "main", {"1"}), Entry("uid-b", "init", {"2"})});
  Begin();

  Ask();

  EXPECT_EQ(ledger().holdings(),
            (Holdings{Held("", {"2"}, "uid-b", "init"), Held("a", {"1"}, "uid-a")}));
}

TEST_F(LedgerSyncTest, HoldingsOfOtherResourcesAreLeftOut) {
  StartKubelet();
  Holding other = Held("b", {"1"});
  other.resource = "other.com/npu";
  kubelet::CheckpointEntry entry = Entry("uid-c", "main", {"1"});
  entry.resource = "third.com/npu";
  Tell({Held("a", {"1"}), other});
  WriteCheckpoint({entry});
  Begin();

  Ask();

  EXPECT_EQ(ledger().holdings(), Holdings{Held("a", {"1"})});
}

TEST_F(LedgerSyncTest, TheCheckpointCountsAsHeldBeforeKubeletHasAnswered) {
  WriteCheckpoint({Entry("uid-a", "main", {"1"})});

  Begin();

  EXPECT_EQ(ledger().HeldIds(kSource), Ids{"1"});
  EXPECT_FALSE(ledger().reconciled(kSource));
}

TEST_F(LedgerSyncTest, WithoutACheckpointNobodyHoldsADeviceBeforeKubeletHasAnswered) {
  Begin();

  EXPECT_FALSE(ledger().IsHeld({kSource, "1"}));
  EXPECT_FALSE(ledger().reconciled(kSource));
}

TEST_F(LedgerSyncTest, WithATornCheckpointAnyDeviceMayBeHeldBeforeKubeletHasAnswered) {
  WriteCheckpoint("{");

  Begin();

  EXPECT_TRUE(ledger().IsHeld({kSource, "1"}));
}

TEST_F(LedgerSyncTest, WithoutTheApiTheCheckpointAloneTellsWhoHoldsWhat) {
  WriteCheckpoint({Entry("uid-a", "main", {"1"})});
  Begin();

  Ask();

  EXPECT_EQ(ledger().holdings(), Holdings{Held("", {"1"}, "uid-a")});
  EXPECT_EQ(compared_, std::vector<Allocatable>{std::nullopt});
  EXPECT_EQ(changed_, 1);
  EXPECT_EQ(sync_->error(),
            (Error{Reason::kPodResourcesUnavailable,
                   directories_.pod_resources() +
                       " does not exist, so the agent reads kubelet's checkpoint, which lacks pod "
                       "names and still lists ended pods. If kubelet loses the agent's "
                       "registration, the agent does not notice"}));
}

TEST_F(LedgerSyncTest, WithNeitherEverythingMayBeInUseAndGrantsWait) {
  Begin();
  ledger().inbox()->Put(kSource, {"1"}, Steady());

  Ask();

  EXPECT_FALSE(ledger().reconciled(kSource));
  EXPECT_EQ(ledger().pending(), (std::vector<PendingGrant>{{kSource, {"1"}, Steady()}}));
  EXPECT_EQ(compared_, std::vector<Allocatable>());
  EXPECT_EQ(changed_, 0);
}

TEST_F(LedgerSyncTest, WhatTheApiOnceToldStaysWhenItIsGone) {
  StartKubelet();
  Tell({Held("a", {"1"})});
  Begin();
  Ask();
  EndKubelet();
  WriteCheckpoint(std::vector<kubelet::CheckpointEntry>());

  Ask();

  EXPECT_EQ(ledger().holdings(), Holdings{Held("a", {"1"})});
  EXPECT_EQ(Count("reconciliations", "failed"), 1);
}

// The monitor's labels are those of this page.
TEST_F(LedgerSyncTest, WhileTheApiIsAwayThePageOfGrantsKeepsItsNames) {
  const std::vector<kubelet::CheckpointEntry> entries = {Entry("uid-a", "main", {"1"}),
                                                         Entry("uid-b", "main", {"2"})};
  StartKubelet();
  Tell({Held("a", {"1"}), Held("b", {"2"})});
  WriteCheckpoint(entries);
  Begin();
  Ask();
  const BindContext context;
  const PodFacts facts{.node = "worker-1", .ledger = ledger(), .context = context};
  const auto of = [](const std::string& pod, const std::string& device) {
    return R"({"devices":[{"device":")" + device + R"("}],"uid":"uid-)" + pod +
           R"(","container":"main","resource":")" + kSource +
           R"(","division":"","namespace":"default","pod":")" + pod + R"("})";
  };
  const std::string page =
      R"({"node":"worker-1","released":false,"pods":{},"directories":[],"containers":[)" +
      of("a", "1") + "," + of("b", "2") + "]}";
  EXPECT_EQ(json::Write(GrantsPage(facts, {}, false)), page);

  kubelet_.reset();
  Ask();
  EXPECT_EQ(Count("reconciliations", "failed"), 1);
  EXPECT_EQ(json::Write(GrantsPage(facts, {}, false)), page);

  EndKubelet();
  Ask();
  EXPECT_EQ(Count("reconciliations", "failed"), 2);
  EXPECT_EQ(json::Write(GrantsPage(facts, {}, false)), page);
}

TEST_F(LedgerSyncTest, AnApiThatIsThereAndDoesNotAnswerLeavesNothingToTheCheckpoint) {
  EXPECT_TRUE(os::MakeDirectories(directories_.pod_resources()));
  WriteCheckpoint({Entry("uid-a", "main", {"1"})});
  Begin();

  Ask();

  EXPECT_FALSE(ledger().reconciled(kSource));
  EXPECT_EQ(ledger().HeldIds(kSource), Ids{"1"});
  EXPECT_EQ(compared_, std::vector<Allocatable>());
}

TEST_F(LedgerSyncTest, AKubeletThatHasNoPodsYetAfterARestartEndsNone) {
  StartKubelet();
  Tell({Held("a", {"1"})});
  WriteCheckpoint({Entry("uid-a", "main", {"1"})});
  Begin();
  Ask();
  const Holdings held = {Held("a", {"1"}, "uid-a")};
  ASSERT_EQ(ledger().holdings(), held);

  EndKubelet();
  StartKubelet();
  Tell({});
  Ask();
  EXPECT_EQ(ledger().holdings(), held);

  Tell({Held("a", {"1"})});
  Ask();
  EXPECT_EQ(ledger().holdings(), held);
  Tell({});
  Ask();
  EXPECT_EQ(ledger().holdings(), Holdings());
}

TEST_F(LedgerSyncTest, ATornCheckpointChangesNothing) {
  StartKubelet();
  Tell({});
  WriteCheckpoint({Entry("uid-b", "init", {"2"})});
  Begin();
  Ask();
  WriteCheckpoint(R"({"Data":{"PodDev)");

  Ask();

  EXPECT_EQ(ledger().holdings(), Holdings{Held("", {"2"}, "uid-b", "init")});
}

TEST_F(LedgerSyncTest, WithoutACheckpointNobodyIsKnownFromIt) {
  StartKubelet();
  Tell({});
  WriteCheckpoint({Entry("uid-b", "init", {"2"})});
  Begin();
  Ask();
  EXPECT_TRUE(os::RemoveFile(directories_.device_plugins() + "/" + kubelet::kCheckpointFile));

  Ask();

  EXPECT_EQ(ledger().holdings(), Holdings());
}

TEST_F(LedgerSyncTest, WhatNoAllocateGaveIsDrift) {
  StartKubelet();
  Begin();
  Ask();
  Tell({Held("a", {"1"})});
  const CapturedLog told;

  Ask();

  EXPECT_EQ(Count("drift", kSource), 1);
  EXPECT_EQ(
      told.text(),
      "INFO ledger drift: kubelet lists a grant of another instance, or from before this start "
      "reason=ledger-drift resource=dummy.com/npu pod=default/a container=main ids=1\n");
}

TEST_F(LedgerSyncTest, OnlyWhatHasChangedIsTold) {
  StartKubelet();
  Tell({Held("a", {"1"})});
  Begin();
  Ask();
  Ask();
  EXPECT_EQ(changed_, 1);

  Tell({});
  Ask();
  EXPECT_EQ(changed_, 2);
}

TEST_F(LedgerSyncTest, AFailureIsToldOnceAndItsEndToo) {
  Begin();
  CapturedLog told;

  Ask();
  EXPECT_TRUE(told.text().starts_with("WARN cannot compare the ledger with kubelet reason="))
      << told.text();
  told.Take();
  Ask();
  EXPECT_EQ(told.Take(), "");

  StartKubelet();
  Ask();
  EXPECT_EQ(told.Take(), "INFO the ledger is compared with kubelet again\n");
  EXPECT_EQ(sync_->error(), std::nullopt);
}

TEST_F(LedgerSyncTest, OneQuestionIsAskedAtATimeAndOneMoreForAllThatCameMeanwhile) {
  StartKubelet();
  kubelet_->Hold();
  Begin();
  sync_->AskSoon(kAtOnce);
  ASSERT_TRUE(RunUntil([&] { return kubelet_->lists() == 1; }));
  for (int time = 0; time < 3; ++time) {
    sync_->AskSoon(kAtOnce);
    Pass();
  }
  EXPECT_EQ(kubelet_->lists(), 1);

  kubelet_->LetGo();

  ASSERT_TRUE(RunUntil([&] { return compared_.size() == 2; }));
  EXPECT_EQ(kubelet_->lists(), 2);
}

// Without the API the answer comes at once.
TEST_F(LedgerSyncTest, WhoLooksAtAnAnswerHasKubeletAskedOnlyWhereThatIsOld) {
  Begin();
  Ask();
  sync_->AskIfOld();
  Pass();
  EXPECT_EQ(Answers(), 1);

  sync_->SetInterval(Duration(1));
  sync_->AskIfOld();
  EXPECT_TRUE(RunUntil([&] { return Answers() > 1; }));
}

TEST_F(LedgerSyncTest, KubeletIsAskedAgainAndAgain) {
  StartKubelet();
  Begin(Duration(1));
  sync_->AskSoon(kAtOnce);

  EXPECT_TRUE(RunUntil([&] { return compared_.size() == 4; }));
}

TEST(NextPause, DoublesUpToAMinuteWhileNobodyWantsToKnow) {
  std::vector<int64_t> pauses;
  Duration pause(10'000);
  for (int time = 0; time < 4; ++time) {
    pause = NextPause(pause, Duration(10'000), Interest::kNone);
    pauses.push_back(pause.count());
  }

  EXPECT_EQ(pauses, (std::vector<int64_t>{20'000, 40'000, 60'000, 60'000}));
}

TEST(NextPause, IsNeverShorterThanALongIntervalWhileNobodyWantsToKnow) {
  EXPECT_EQ(NextPause(Duration(90'000), Duration(90'000), Interest::kNone), Duration(90'000));
}

TEST(NextPause, IsTheIntervalWhereSomebodyWantsToKnow) {
  EXPECT_EQ(NextPause(Duration(60'000), Duration(10'000), Interest::kUsual), Duration(10'000));
}

TEST(NextPause, IsASecondAtMostForWhoIsEager) {
  EXPECT_EQ(NextPause(Duration(60'000), Duration(10'000), Interest::kEager), Duration(1'000));
  EXPECT_EQ(NextPause(Duration(60'000), Duration(500), Interest::kEager), Duration(500));
}

}  // namespace
}  // namespace tessera::agent
