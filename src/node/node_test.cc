// SPDX-License-Identifier: Apache-2.0
#include "node/node.h"

#include <gtest/gtest.h>

#include "node/node_under_test.h"

namespace tessera {
namespace {

class NodeTest : public testing::Test, public NodeUnderTest {};

TEST_F(NodeTest, ADeviceThatWasFoundIsNotYetOffered) {
  node_.UpdateDevices(kSource, {Npu("0")});

  EXPECT_EQ(TakeTold(), "change:dummy.com/npu ");
  EXPECT_EQ(Trouble("0"), (Error{Reason::kNotChecked, "not checked yet on this boot"}));
  EXPECT_FALSE(node_.Verified(kSource));
}

TEST_F(NodeTest, AGoodCheckMakesItHealthy) {
  node_.UpdateDevices(kSource, {Npu("0")});
  TakeTold();

  node_.Observe(kSource, {Good("0")});

  EXPECT_EQ(TakeTold(), "change:dummy.com/npu 0=healthy ");
  EXPECT_EQ(Trouble("0"), std::nullopt);
  EXPECT_TRUE(node_.Verified(kSource));
}

TEST_F(NodeTest, AFatalEventOfAHealthyDeviceIsBadNews) {
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1")});
  node_.Observe(kSource, {Good("0"), Good("1")});
  TakeTold();

  node_.Observe(kSource, {Fatal("0", "on fire")});

  EXPECT_EQ(TakeTold(), "bad:dummy.com/npu 0=unhealthy ");
  EXPECT_EQ(Trouble("0"), (Error{Reason::kFatalEvent, "on fire"}));
  EXPECT_EQ(Trouble("1"), std::nullopt);
}

TEST_F(NodeTest, ADeviceThatFlapsTenTimesASecondIsTakenOutOnce) {
  node_.UpdateDevices(kSource, {Npu("0")});
  node_.Observe(kSource, {Good("0")});

  EXPECT_EQ(ChangesOfAMinuteAtTenHertz(), 1);
}

TEST_F(NodeTest, ADeviceThatFlapsTenTimesASecondAndRecoversAtOnceIsHeldOutAtItsThirdFall) {
  HealthPolicy eager;
  eager.passes = 1;
  eager.recovery = Duration(0);
  node_.SetParameters({.policy = eager});
  node_.UpdateDevices(kSource, {Npu("0")});
  node_.Observe(kSource, {Good("0")});

  EXPECT_EQ(ChangesOfAMinuteAtTenHertz(), 5);  // out, in, out, in, out
}

TEST_F(NodeTest, TheSameEvidenceAgainTellsNobody) {
  node_.UpdateDevices(kSource, {Npu("0")});
  node_.Observe(kSource, {Good("0")});
  TakeTold();

  node_.Observe(kSource, {Good("0")});

  EXPECT_EQ(TakeTold(), "");
}

TEST_F(NodeTest, ADeviceIsNamedByWhatItsIdBeginsWith) {
  const std::string one = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";
  const std::string like = "GPU-9b1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";
  const std::string other = "GPU-9b1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a43";
  node_.UpdateDevices(kSource, {Npu(one), Npu(like), Npu(other), Npu("12")});
  for (const char* name : {"GPU-8a1f1d3c", "GPU-8a1f1d3c…", "dummy.com/npu/GPU-8a1f1d3c…"}) {
    EXPECT_EQ(node_.Resolve(name).value(), (DeviceKey{kSource, one})) << name;
  }
  EXPECT_EQ(node_.Resolve("GPU-9b1f1d3c…").error().reason, Reason::kInvalid);
  EXPECT_EQ(node_.Resolve("GPU-8a1f").error().reason, Reason::kNotFound);
  EXPECT_EQ(node_.Resolve("1").error().reason, Reason::kNotFound);
}

TEST_F(NodeTest, AVanishedDeviceStaysWhileItMayBeInUse) {
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1")});
  node_.Observe(kSource, {Good("0"), Good("1")});

  node_.UpdateDevices(kSource, {Npu("1")});

  ASSERT_NE(node_.inventory()->Find({kSource, "0"}), nullptr);
  EXPECT_EQ(Trouble("0"), (Error{Reason::kVanished, "it is no longer there"}));
}

TEST_F(NodeTest, AVanishedDeviceLeavesOnceTheLedgerSaysThatNobodyHoldsIt) {
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1")});
  node_.ledger().Reconcile({}, {kSource}, clock_.Now());

  EXPECT_TRUE(node_.UpdateDevices(kSource, {Npu("1")}));
  EXPECT_EQ(Trouble("0"), (Error{Reason::kVanished, "it is no longer there"}));

  EXPECT_FALSE(node_.UpdateDevices(kSource, {Npu("1")}));
  EXPECT_EQ(node_.inventory()->Find({kSource, "0"}), nullptr);
}

TEST_F(NodeTest, ADeviceThatIsGrantedWhileItVanishesStays) {
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1")});
  node_.ledger().Reconcile({}, {kSource}, clock_.Now());
  EXPECT_TRUE(node_.UpdateDevices(kSource, {Npu("1")}));

  node_.ledger().inbox()->Put(kSource, {"0"}, clock_.Now());

  EXPECT_FALSE(node_.UpdateDevices(kSource, {Npu("1")}));
  EXPECT_NE(node_.inventory()->Find({kSource, "0"}), nullptr);
}

TEST_F(NodeTest, TheSameIdsOfOtherKindsAreNoHardware) {
  node_.ledger().inbox()->Put("dummy.com/other", {"0"}, clock_.Now());
  node_.UpdateDevices("dummy.com/other", {Npu("0")});
  node_.UpdateDevices(kSource, {Npu("0")});
  node_.Observe(kSource, {Good("0")});
  EXPECT_EQ(Trouble("0"), std::nullopt);
}

TEST_F(NodeTest, ADeviceWithADefectIsNotHealedByAGoodCheck) {
  Device broken = Npu("0");
  broken.defect = Error{Reason::kUnreadable, "no permission"};
  node_.UpdateDevices(kSource, {broken});

  node_.Observe(kSource, {Good("0")});

  EXPECT_EQ(Trouble("0"), (Error{Reason::kUnreadable, "no permission"}));
}

TEST_F(NodeTest, ADeviceOfWhichNothingIsHeardBecomesUnhealthy) {
  node_.UpdateDevices(kSource, {Npu("0")});
  node_.Observe(kSource, {Good("0")});
  TakeTold();
  clock_.Advance(Duration(60'000));

  node_.Tick();

  EXPECT_EQ(TakeTold(), "bad:dummy.com/npu 0=unhealthy ");
  EXPECT_EQ(Trouble("0"),
            (Error{Reason::kCheckStale, "no check or event has reported on it for 1 min"}));
}

TEST_F(NodeTest, AFallIsToBeSavedAtOnceAndAnythingElseSoon) {
  node_.UpdateDevices(kSource, {Npu("0")});
  node_.Observe(kSource, {Good("0")});
  node_.VerdictsSaved();
  const uint64_t facts = node_.facts_generation();

  node_.Observe(kSource, {Fatal("0", "burnt")});
  EXPECT_TRUE(node_.fall_unsaved());
  EXPECT_EQ(UnsavedIds(), std::vector<std::string>{"0"});
  EXPECT_EQ(node_.facts_generation(), facts);
  node_.VerdictsSaved();
  EXPECT_FALSE(node_.fall_unsaved());
  ASSERT_TRUE(node_.Cordon("0", "fan is loud"));
  EXPECT_FALSE(node_.fall_unsaved());

  EXPECT_EQ(node_.facts_generation(), facts + 1);
}

TEST_F(NodeTest, ATickTellsWhenTheFirstDeviceWillBeStale) {
  EXPECT_EQ(node_.Tick(), std::nullopt);
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1"), Npu("2")});
  node_.Observe(kSource, {Good("1")});
  const Steady first = clock_.Now();
  clock_.Advance(Duration(1'000));
  node_.Observe(kSource, {Good("2")});

  EXPECT_EQ(node_.Tick(), first + Duration(60'000));
}

TEST_F(NodeTest, AllAreHealthyWhenAllThatCanBeAre) {
  Device broken = Npu("2");
  broken.defect = Error{Reason::kUnreadable, "no permission"};
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1"), broken});

  node_.Observe(kSource, {Good("0")});
  EXPECT_FALSE(node_.AllHealthy(kSource));
  node_.Observe(kSource, {Good("1")});
  EXPECT_TRUE(node_.AllHealthy(kSource));
}

TEST_F(NodeTest, ACordonTakesAHealthyDeviceOutUntilItIsLifted) {
  node_.UpdateDevices(kSource, {Npu("0")});
  node_.Observe(kSource, {Good("0")});
  TakeTold();

  ASSERT_TRUE(node_.Cordon("0", "fan is loud"));
  EXPECT_EQ(TakeTold(), "bad:dummy.com/npu ");
  EXPECT_EQ(Trouble("0"), (Error{Reason::kCordoned, "cordoned: fan is loud"}));

  ASSERT_TRUE(node_.Uncordon("dummy.com/npu/0"));
  EXPECT_EQ(Trouble("0"), std::nullopt);
}

TEST_F(NodeTest, AnAmbiguousNameIsRefused) {
  node_.UpdateDevices(kSource, {Npu("0")});
  Device other = Npu("0");
  other.key.source = "dummy.com/tpu";
  node_.UpdateDevices("dummy.com/tpu", {other});

  EXPECT_EQ(node_.Cordon("0", "why").error(),
            (Error{Reason::kInvalid,
                   "device 0 could be dummy.com/npu/0 or dummy.com/tpu/0: name it in full"}));
  EXPECT_EQ(node_.Cordon("9", "why").error(), (Error{Reason::kNotFound, "there is no device 9"}));
}

TEST_F(NodeTest, ARestartOnTheSameBootKeepsVerdictsAndCordons) {
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1"), Npu("2")});
  node_.Observe(kSource, {Good("0"), Good("1"), Fatal("2", "on fire")});
  ASSERT_TRUE(node_.Cordon("1", "by hand"));

  RecordedNode next(clock_, {});
  next.Restore(SavedFacts(), SavedVerdicts());

  EXPECT_TRUE(next.Verified(kSource));
  EXPECT_EQ(next.inventory()->devices, node_.inventory()->devices);
  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kSource, "0"})), std::nullopt);
  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kSource, "1"}))->message, "cordoned: by hand");
  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kSource, "2"}))->message, "on fire");
}

TEST_F(NodeTest, WithoutVerdictsTheInventoryAndCordonsAreKept) {
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1")});
  node_.Observe(kSource, {Good("0"), Good("1")});
  ASSERT_TRUE(node_.Cordon("1", "by hand"));

  RecordedNode next(clock_, {});
  next.Restore(SavedFacts(), {});

  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kSource, "0"}))->reason, Reason::kNotChecked);
  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kSource, "1"}))->reason, Reason::kCordoned);
}

TEST_F(NodeTest, ASavedVerdictWaitsForItsDeviceToBeFound) {
  node_.UpdateDevices(kSource, {Npu("0")});
  node_.Observe(kSource, {Fatal("0", "on fire")});
  RecordedNode next(clock_, {});
  next.Restore({}, SavedVerdicts());
  EXPECT_EQ(next.awaited_verdicts().size(), 1u);

  next.UpdateDevices(kSource, {Npu("0")});

  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kSource, "0"}))->message, "on fire");
  EXPECT_TRUE(next.awaited_verdicts().empty());
}

TEST_F(NodeTest, DevicesThatWereSavedInAnotherOrderAreFoundAllTheSame) {
  Facts facts;
  for (const char* id : {"10", "2", "1", "2"}) facts.devices.push_back(Npu(id));
  node_.Restore(std::move(facts), {});

  std::string ids;
  for (const Device& device : node_.inventory()->devices) ids += device.key.id + " ";
  EXPECT_EQ(ids, "1 2 10 ");
}

TEST_F(NodeTest, AFallThatAnotherInstanceSawLaterIsAdopted) {
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1")});
  node_.Observe(kSource, {Good("0"), Good("1")});
  Verdicts theirs = SavedVerdicts();
  for (auto& [key, verdict] : theirs) {
    verdict.state = HealthState::kUnhealthy;
    verdict.detail = "on fire";
  }
  theirs[{kSource, "1"}].since = clock_.Now() + Duration(1);
  TakeTold();

  node_.AdoptFalls(theirs);

  EXPECT_EQ(Trouble("0"), std::nullopt);  // their fall is older than our good check
  EXPECT_EQ(Trouble("1")->message, "on fire");
  EXPECT_EQ(TakeTold(), "bad:dummy.com/npu 1=unhealthy ");
}

TEST_F(NodeTest, SoItIsForADeviceThatWasNotCheckedYet) {
  node_.UpdateDevices(kSource, {Npu("0")});
  Verdict theirs;
  theirs.state = HealthState::kUnhealthy;
  theirs.detail = "on fire";

  node_.AdoptFalls({{{kSource, "0"}, theirs}});

  EXPECT_EQ(Trouble("0")->message, "on fire");
}

TEST_F(NodeTest, OnlyVerdictsThatChangedAreToBeSaved) {
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1"), Npu("2")});
  node_.Observe(kSource, {Good("0"), Good("1"), Good("2")});
  node_.Observe(kSource, {Good("0"), Good("1"), Good("2")});  // further passes are not counted
  EXPECT_TRUE(node_.all_verdicts_unsaved());
  node_.VerdictsSaved();

  node_.Observe(kSource, {Good("0"), Fatal("1", "on fire"), Good("2")});

  EXPECT_FALSE(node_.all_verdicts_unsaved());
  EXPECT_EQ(UnsavedIds(), std::vector<std::string>{"1"});
}

TEST_F(NodeTest, FactsAreToBeSavedWhenDevicesCordonsOrPlansChange) {
  uint64_t generation = node_.facts_generation();
  const auto changed = [&] {
    return std::exchange(generation, node_.facts_generation()) != node_.facts_generation();
  };
  node_.UpdateDevices(kSource, {Npu("0")});
  EXPECT_TRUE(changed());
  node_.UpdateDevices(kSource, {Npu("0")});
  node_.Observe(kSource, {Good("0"), Fatal("0", "on fire")});
  EXPECT_FALSE(changed());
  ASSERT_TRUE(node_.Cordon("0", "why"));
  EXPECT_TRUE(changed());
  ASSERT_TRUE(node_.Uncordon("0"));
  EXPECT_TRUE(changed());
  EXPECT_TRUE(node_.SetPlan(kSource, {}));
  EXPECT_TRUE(changed());
  EXPECT_FALSE(node_.SetPlan(kSource, {}));
  EXPECT_FALSE(changed());
  EXPECT_TRUE(node_.SetPlan(kSource, {{}, {{"0", {"0::1"}}}}));
  EXPECT_TRUE(changed());
}

const Policy kShared{Division::kReplicas, 4};

Holding HoldingOf(std::vector<std::string> ids) {
  return {"default", "pod", "uid", "main", kSource, std::move(ids)};
}

TEST_F(NodeTest, UntilItIsKnownWhoHoldsWhatDevicesAreDividedAsTheyWere) {
  EXPECT_EQ(node_.PlanFor(kSource, kShared), Plan{kShared});
  const Plan last = {{}, {{"1", {"1::1"}}}};
  node_.SetPlan(kSource, last);
  node_.Restore(SavedFacts(), {});

  EXPECT_EQ(node_.PlanFor(kSource, kShared), last);
  node_.ledger().Reconcile({}, {kSource}, clock_.Now());
  EXPECT_EQ(node_.PlanFor(kSource, kShared), Plan{kShared});
}

TEST_F(NodeTest, WhatTheCheckpointSaysIsKeptBesideThePlanThatWasSaved) {
  node_.ledger().Presume({HoldingOf({"0", "2::1"})});
  EXPECT_EQ(node_.PlanFor(kSource, kShared), (Plan{kShared, {{"0", {"0"}}}}));

  node_.SetPlan(kSource, {{}, {{"1", {"1::1"}}}});

  EXPECT_EQ(node_.PlanFor(kSource, kShared), (Plan{{}, {{"1", {"1::1"}}, {"2", {"2::1"}}}}));
}

TEST_F(NodeTest, APlanOfAnotherInstanceCountsUntilItIsKnownWhoHoldsWhat) {
  node_.SetPlan(kSource, {});
  node_.SetPlan("dummy.com/tpu", {});
  node_.ledger().Reconcile({}, {"dummy.com/tpu"}, clock_.Now());
  const uint64_t before = node_.facts_generation();

  node_.AdoptPlans({{kSource, {kShared}}, {"dummy.com/tpu", {kShared}}});

  EXPECT_EQ(node_.plans(), (Plans{{kSource, {kShared}}, {"dummy.com/tpu", {}}}));
  EXPECT_NE(node_.facts_generation(), before);
}

TEST_F(NodeTest, ADeviceThatAContainerWasBoundToInsteadOfItsShareIsNotOfferedWhole) {
  node_.SetPlan(kSource, {{Division::kVgpu, 4}});
  const Holding holding = HoldingOf({"1::0"});
  node_.ledger().Reconcile({holding}, {kSource}, clock_.Now());
  node_.ledger().inbox()->PutBound({holding.pod_uid, "main", kSource, {"2"}, clock_.Now()});
  node_.ledger().Reconcile({holding}, {kSource}, clock_.Now());

  EXPECT_EQ(node_.PlanFor(kSource, {}), (Plan{{}, {{"1", {"1::0"}}, {"2", {}}}}));

  node_.ledger().Reconcile({}, {kSource}, clock_.Now());
  EXPECT_EQ(node_.PlanFor(kSource, {}), Plan{});
}

TEST_F(NodeTest, ADeviceThatItsSourceDoesNotPrepareAnyMoreIsOfferedOnceItIsUndone) {
  node_.SetPlan(kSource, {});
  node_.ledger().Reconcile({HoldingOf({"1::0"})}, {kSource}, clock_.Now());
  const Node::DeviceKeys left = {{kSource, "1"}, {kSource, "2"}};
  node_.SetPrepared(left, {}, {}, left);
  EXPECT_EQ(node_.TakeTold(), "bad:dummy.com/npu ");
  EXPECT_EQ(node_.PlanFor(kSource, {}), (Plan{{}, {{"1", {"1::0"}}, {"2", {}}}}));

  node_.SetPrepared({}, {}, {});
  EXPECT_EQ(node_.TakeTold(), "bad:dummy.com/npu ");
  EXPECT_EQ(node_.PlanFor(kSource, {}), (Plan{{}, {{"1", {"1::0"}}}}));

  // What containers hold stays, also if the policy makes it.
  node_.SetPrepared(left, {}, {}, left);
  EXPECT_EQ(node_.PlanFor(kSource, kShared), (Plan{kShared, {{"1", {"1::0"}}, {"2", {}}}}));
}

TEST_F(NodeTest, OnlyDevicesWhoseSharesWouldBeGoneWaitForTheirHolders) {
  node_.SetPlan(kSource, {});
  node_.ledger().Reconcile({HoldingOf({"0"})}, {kSource}, clock_.Now());
  node_.ledger().inbox()->Put(kSource, {"1"}, clock_.Now());
  node_.ledger().inbox()->Put("dummy.com/tpu", {"2"}, clock_.Now());

  EXPECT_EQ(node_.PlanFor(kSource, kShared), (Plan{kShared, {{"0", {"0"}}, {"1", {"1"}}}}));
  EXPECT_EQ(node_.PlanFor(kSource, {}), Plan{});

  EndPending();
  EXPECT_EQ(node_.PlanFor(kSource, kShared), Plan{kShared});
}

TEST_F(NodeTest, UnverifiedByOrderAreThoseThatAreNotOutForAReasonOfTheirOwn) {
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1")});
  node_.Observe(kSource, {Good("0"), Fatal("1", "on fire")});
  TakeTold();

  node_.Unverify(kSource, Reason::kReleased, "closed");

  EXPECT_EQ(TakeTold(), "bad:dummy.com/npu 0=unverified ");
  EXPECT_EQ(Trouble("0"), (Error{Reason::kReleased, "closed"}));
  EXPECT_EQ(Trouble("1")->message, "on fire");
  node_.Observe(kSource, {Good("0")});
  EXPECT_EQ(Trouble("0"), std::nullopt);
}

TEST_F(NodeTest, VerdictsStayWithTheirDevicesWhenOthersComeAndGo) {
  node_.UpdateDevices(kSource, {Npu("1"), Npu("3")});
  node_.Observe(kSource, {Good("1"), Fatal("3", "on fire")});

  node_.UpdateDevices(kSource, {Npu("0"), Npu("1"), Npu("2"), Npu("3")});

  EXPECT_EQ(Trouble("0")->reason, Reason::kNotChecked);
  EXPECT_EQ(Trouble("1"), std::nullopt);
  EXPECT_EQ(Trouble("2")->reason, Reason::kNotChecked);
  EXPECT_EQ(Trouble("3")->message, "on fire");
}

TEST_F(NodeTest, OfARetiredSourceLeavesWhatNobodyHolds) {
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1")});
  node_.UpdateDevices("dummy.com/tpu", {Npu("0")});
  node_.ledger().inbox()->Put(kSource, {"1"}, clock_.Now());

  node_.Retire(kSource);
  node_.ledger().Reconcile({}, {kSource, "dummy.com/tpu"}, clock_.Now());

  EXPECT_FALSE(node_.EndRetired(kSource));
  EXPECT_EQ(KnownDevices(), "dummy.com/npu/1 dummy.com/tpu/0 ");
  EXPECT_EQ(Trouble("1"), (Error{Reason::kVanished, "its resource is no longer configured"}));

  EndPending();
  EXPECT_TRUE(node_.EndRetired(kSource));
  EXPECT_EQ(KnownDevices(), "dummy.com/tpu/0 ");
  EXPECT_EQ(node_.retired(), std::set<std::string>());
}

TEST_F(NodeTest, ARetiredSourceMayBeConfiguredAgain) {
  node_.UpdateDevices(kSource, {Npu("0")});
  node_.Observe(kSource, {Good("0")});
  node_.Retire(kSource);

  node_.Configure(kSource, false);
  node_.UpdateDevices(kSource, {Npu("0")});

  EXPECT_EQ(node_.retired(), std::set<std::string>());
  EXPECT_EQ(Trouble("0"), std::nullopt);
}

TEST_F(NodeTest, NothingIsToBeHeardOfWhatIsRetired) {
  node_.UpdateDevices(kSource, {Npu("0")});
  node_.Observe(kSource, {Good("0")});
  node_.Retire(kSource);
  TakeTold();

  clock_.Advance(Duration(60'000));

  EXPECT_EQ(node_.Tick(), std::nullopt);
  EXPECT_EQ(TakeTold(), "");
}

TEST_F(NodeTest, AnObstacleIsOfAllDevicesOfTheSourceThatAreWell) {
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1")});
  node_.Observe(kSource, {Good("0")});
  TakeTold();
  const Error why{Reason::kNotEnforced, "the library is not there"};
  node_.SetObstacle(kSource, why);
  EXPECT_EQ(TakeTold(), "bad:dummy.com/npu ");
  node_.SetObstacle(kSource, why);
  EXPECT_EQ(TakeTold(), "") << "it is told once";
  EXPECT_EQ(Trouble("0"), why);
  EXPECT_EQ(Trouble("1")->reason, Reason::kNotChecked);

  node_.SetObstacle(kSource, std::nullopt);
  EXPECT_EQ(TakeTold(), "change:dummy.com/npu ");
  EXPECT_EQ(Trouble("0"), std::nullopt);
}

}  // namespace
}  // namespace tessera
