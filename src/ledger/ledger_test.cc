// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace tessera {
namespace {

constexpr char kNpu[] = "dummy.com/npu";
constexpr Duration kLimit{600'000};
constexpr Steady kStart{Duration(1'000'000)};
const std::set<std::string> kResources = {kNpu, "other.com/npu"};

using Ids = std::vector<std::string>;
using Holdings = std::vector<Holding>;

Holding Held(const std::string& pod, const Ids& ids, const std::string& uid = "",
             const std::string& container = "main") {
  return {pod.empty() ? "" : "default", pod, uid, container, kNpu, ids};
}

TEST(Ledger, EveryDeviceMayBeInUseUntilTheFirstList) {
  Ledger ledger(kLimit);

  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "7"}));
  ledger.Reconcile({}, kResources, kStart);
  EXPECT_FALSE(ledger.MayBeInUse({kNpu, "7"}));
}

TEST(Ledger, EachResourceWaitsForItsOwnFirstList) {
  Ledger ledger(kLimit);
  ledger.Reconcile({}, {"other.com/npu"}, kStart);

  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "7"}));
  EXPECT_TRUE(ledger.Reconcile({Held("a", {"7"})}, kResources, kStart).unexpected.empty());
}

TEST(Ledger, APendingGrantMakesItsDevicesInUse) {
  Ledger ledger(kLimit);
  ledger.Reconcile({}, kResources, kStart);

  ledger.inbox()->Put(kNpu, {"7", "8::1"}, kStart);

  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "7"}));
  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "8"}));
  EXPECT_FALSE(ledger.MayBeInUse({kNpu, "9"}));
  EXPECT_FALSE(ledger.MayBeInUse({"other.com/npu", "7"}));
  EXPECT_EQ(ledger.holdings(), Holdings());
}

TEST(Ledger, SharesOfAResourceAreHeldByHoldingsAndGrants) {
  Ledger ledger(kLimit);
  Holding other = Held("b", {"1"});
  other.resource = "other.com/npu";
  ledger.Reconcile({Held("a", {"7::0", "7::1"}), other}, kResources, kStart);
  ledger.inbox()->Put(kNpu, {"8"}, kStart);
  ledger.inbox()->Put("other.com/npu", {"2"}, kStart);

  EXPECT_EQ(ledger.HeldIds(kNpu), (Ids{"7::0", "7::1", "8"}));
  EXPECT_EQ(ledger.HeldIds("third.com/npu"), Ids{});
}

TEST(Ledger, WhatTheCheckpointSaysIsHeldUntilTheFirstReconciliation) {
  Ledger ledger(kLimit);
  Holding other = Held("b", {"5"});
  other.resource = "other.com/npu";

  ledger.Presume({Held("a", {"7::0"}), other});
  EXPECT_EQ(ledger.HeldIds(kNpu), Ids{"7::0"});
  EXPECT_EQ(ledger.holdings(), Holdings{});

  ledger.Reconcile({}, {kNpu}, kStart);
  EXPECT_EQ(ledger.HeldIds(kNpu), Ids{});
  EXPECT_EQ(ledger.HeldIds("other.com/npu"), Ids{"5"});
}

TEST(Ledger, WhatIsPreparedCountsAsHeldThoughKubeletListsItNoMore) {
  Ledger ledger(kLimit);
  ledger.Presume({});
  ledger.SetPrepared({{kNpu, "7"}});
  EXPECT_TRUE(ledger.IsHeld({kNpu, "7"}));
  EXPECT_FALSE(ledger.IsHeld({kNpu, "8"}));

  ledger.Reconcile({}, {kNpu, "other.com/npu"}, kStart);
  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "7"}));
  EXPECT_TRUE(ledger.AnyMayBeInUse(kNpu));
  EXPECT_FALSE(ledger.AnyMayBeInUse("other.com/npu"));

  ledger.SetPrepared({});
  EXPECT_FALSE(ledger.MayBeInUse({kNpu, "7"}));
  EXPECT_FALSE(ledger.AnyMayBeInUse(kNpu));
}

TEST(Ledger, OnlyWhatIsPresumedCountsAsHeldUntilTheFirstReconciliation) {
  Ledger ledger(kLimit);
  EXPECT_TRUE(ledger.IsHeld({kNpu, "7"}));

  ledger.Presume({Held("a", {"7::0"})});
  EXPECT_TRUE(ledger.IsHeld({kNpu, "7"}));
  EXPECT_FALSE(ledger.IsHeld({kNpu, "8"}));
  EXPECT_FALSE(ledger.IsHeld({"other.com/npu", "7"}));
  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "8"}));
  ledger.inbox()->Put(kNpu, {"8"}, kStart);
  EXPECT_TRUE(ledger.IsHeld({kNpu, "8"}));

  ledger.Reconcile({}, {kNpu}, kStart);
  EXPECT_FALSE(ledger.IsHeld({kNpu, "7"}));
}

TEST(Ledger, AHoldingMakesTheDevicesOfItsSharesInUse) {
  Ledger ledger(kLimit);

  ledger.Reconcile({Held("b", {"7::2"}), Held("a", {"7::0", "7::1"}), Held("c", {"8::0"})},
                   kResources, kStart);

  EXPECT_EQ(ledger.holdings(),
            (Holdings{Held("a", {"7::0", "7::1"}), Held("b", {"7::2"}), Held("c", {"8::0"})}));
  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "7"}));
  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "8"}));
  EXPECT_FALSE(ledger.MayBeInUse({kNpu, "9"}));
}

TEST(Ledger, TheFirstListIsExpected) {
  Ledger ledger(kLimit);

  const LedgerChange change = ledger.Reconcile({Held("a", {"1"})}, kResources, kStart);

  EXPECT_EQ(change.appeared, Holdings{Held("a", {"1"})});
  EXPECT_TRUE(change.unexpected.empty());
  EXPECT_TRUE(ledger.reconciled(kNpu));
}

TEST(Ledger, AListConfirmsAPendingGrant) {
  Ledger ledger(kLimit);
  ledger.Reconcile({}, kResources, kStart);
  ledger.inbox()->Put(kNpu, {"10", "2"}, kStart);

  const LedgerChange change = ledger.Reconcile({Held("a", {"10", "2"})}, kResources, kStart);

  EXPECT_EQ(change.appeared, Holdings{Held("a", {"2", "10"})});
  EXPECT_TRUE(change.unexpected.empty());
  EXPECT_TRUE(ledger.pending().empty());
  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "2"}));
}

TEST(Ledger, OneGrantExplainsInitAndAppContainerWithTheSameIds) {
  Ledger ledger(kLimit);
  ledger.Reconcile({}, kResources, kStart);
  ledger.inbox()->Put(kNpu, {"1"}, kStart);
  ledger.inbox()->Put(kNpu, {"1"}, kStart);

  const LedgerChange change = ledger.Reconcile(
      {Held("a", {"1"}, "", "init"), Held("a", {"1"}, "", "main")}, kResources, kStart);

  EXPECT_EQ(change.appeared.size(), 2U);
  EXPECT_TRUE(change.unexpected.empty());
}

// kubelet gives the app container what the init container had, and more.
TEST(Ledger, AnInitContainerIsExplainedThoughItsSharesWereGrantedAnewWithOthers) {
  Ledger ledger(kLimit);
  ledger.Reconcile({}, kResources, kStart);
  ledger.inbox()->Put(kNpu, {"1"}, kStart);
  ledger.inbox()->Put(kNpu, {"1", "2"}, kStart);

  const LedgerChange change = ledger.Reconcile(
      {Held("a", {"1"}, "", "init"), Held("a", {"1", "2"}, "", "main")}, kResources, kStart);

  EXPECT_EQ(change.unexpected, Holdings());
  EXPECT_EQ(ledger.pending(), std::vector<PendingGrant>());
}

TEST(Ledger, AHoldingWithoutAnAllocateIsUnexpected) {
  Ledger ledger(kLimit);
  ledger.Reconcile({}, kResources, kStart);
  ledger.inbox()->Put(kNpu, {"1"}, kStart);

  const LedgerChange change = ledger.Reconcile({Held("a", {"2"})}, kResources, kStart);

  EXPECT_EQ(change.unexpected, Holdings{Held("a", {"2"})});
  EXPECT_EQ(ledger.pending(), (std::vector<PendingGrant>{{kNpu, {"1"}, kStart}}));
}

TEST(Ledger, AHoldingThatIsNotListedAnyMoreHasEnded) {
  Ledger ledger(kLimit);
  ledger.Reconcile({Held("a", {"1"}), Held("b", {"2"})}, kResources, kStart);

  const LedgerChange change = ledger.Reconcile({Held("b", {"2"})}, kResources, kStart);

  EXPECT_EQ(change.ended, Holdings{Held("a", {"1"})});
  EXPECT_TRUE(change.appeared.empty());
  EXPECT_FALSE(ledger.MayBeInUse({kNpu, "1"}));
}

TEST(Ledger, AnEqualListChangesNothing) {
  Ledger ledger(kLimit);
  ledger.Reconcile({Held("a", {"1", "2"}, "u1"), Held("b", {"3"}, "u2")}, kResources, kStart);

  const LedgerChange change =
      ledger.Reconcile({Held("b", {"3"}, "u2"), Held("a", {"2", "1"}, "u1")}, kResources, kStart);

  EXPECT_TRUE(change.appeared.empty());
  EXPECT_TRUE(change.ended.empty());
}

TEST(Ledger, AMissingUidIsKeptFromBefore) {
  Ledger ledger(kLimit);
  ledger.Reconcile({Held("a", {"1"}, "u1")}, kResources, kStart);

  const LedgerChange change = ledger.Reconcile({Held("a", {"1"})}, kResources, kStart);

  EXPECT_TRUE(change.appeared.empty());
  EXPECT_TRUE(change.ended.empty());
  EXPECT_EQ(ledger.holdings(), Holdings{Held("a", {"1"}, "u1")});
}

TEST(Ledger, ANameLearntLaterIsTheSameHolding) {
  Ledger ledger(kLimit);
  ledger.Reconcile({Held("", {"1"}, "u1")}, kResources, kStart);

  const LedgerChange change = ledger.Reconcile({Held("a", {"1"}, "u1")}, kResources, kStart);

  EXPECT_TRUE(change.appeared.empty());
  EXPECT_EQ(ledger.holdings(), Holdings{Held("a", {"1"}, "u1")});
}

TEST(Ledger, AHolderOfTheCheckpointAloneIsUnnamed) {
  Ledger ledger(kLimit);
  ledger.Reconcile({Held("a", {"1"}, "u1"), Held("", {"2"}, "u2")}, kResources, kStart);
  EXPECT_TRUE(ledger.AnyUnlisted());

  ledger.Reconcile({Held("a", {"1"}, "u1")}, kResources, kStart);
  EXPECT_FALSE(ledger.AnyUnlisted());
}

TEST(Ledger, APodOfTheSameNameWithAnotherUidIsAnother) {
  Ledger ledger(kLimit);
  ledger.Reconcile({Held("a", {"1"}, "u1")}, kResources, kStart);

  const LedgerChange change = ledger.Reconcile({Held("a", {"1"}, "u2")}, kResources, kStart);

  EXPECT_EQ(change.ended, Holdings{Held("a", {"1"}, "u1")});
  EXPECT_EQ(change.appeared, Holdings{Held("a", {"1"}, "u2")});
}

TEST(Ledger, APendingGrantIsForgottenAfterItsTime) {
  Ledger ledger(kLimit);
  ledger.Reconcile({}, kResources, kStart);
  ledger.inbox()->Put(kNpu, {"1"}, kStart);

  EXPECT_TRUE(ledger.Reconcile({}, kResources, kStart + kLimit - Duration(1)).forgotten.empty());
  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "1"}));
  const LedgerChange change = ledger.Reconcile({}, kResources, kStart + kLimit);

  ASSERT_EQ(change.forgotten.size(), 1U);
  EXPECT_EQ(change.forgotten[0].share_ids, Ids{"1"});
  EXPECT_FALSE(ledger.MayBeInUse({kNpu, "1"}));
}

TEST(Ledger, TheSameGrantAgainRenewsItsTime) {
  Ledger ledger(kLimit);
  ledger.inbox()->Put(kNpu, {"1"}, kStart);
  ledger.inbox()->Put(kNpu, {"1"}, kStart + Duration(1));

  ledger.Reconcile({}, kResources, kStart + kLimit);

  EXPECT_EQ(ledger.pending(), (std::vector<PendingGrant>{{kNpu, {"1"}, kStart + Duration(1)}}));
}

TEST(Ledger, AGrantMadeAfterAListWasReadIsNotConfirmedByItsPredecessor) {
  Ledger ledger(kLimit);
  ledger.Reconcile({Held("a", {"1"})}, kResources, kStart);
  ledger.inbox()->Put(kNpu, {"1"}, kStart);

  ledger.Reconcile({Held("a", {"1"})}, kResources, kStart);
  ledger.Reconcile({}, kResources, kStart);

  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "1"}));
}

TEST(Ledger, AContainerHasTheDevicesThatItsGrantWasBoundToWhateverItsShares) {
  Ledger ledger(kLimit);
  const Holding holding = Held("a", {"7::0"}, "uid-a");
  ledger.Reconcile({holding, Held("b", {"9::0"}, "uid-b")}, kResources, kStart);
  EXPECT_EQ(ledger.DevicesOf(holding), std::set<std::string>{"7"});
  EXPECT_FALSE(ledger.HasDrifted(holding));

  ledger.inbox()->PutBound({"uid-a", "main", kNpu, {"8"}, kStart});
  EXPECT_EQ(ledger.DevicesOf(holding), std::set<std::string>{"8"});
  EXPECT_TRUE(ledger.HasDrifted(holding));
  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "8"}));
  ledger.Reconcile({holding}, kResources, kStart);
  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "8"}));
}

TEST(Ledger, WhatWasBoundIsForgottenWithItsContainer) {
  Ledger ledger(kLimit);
  const Holding holding = Held("a", {"7::0"}, "uid-a");
  ledger.inbox()->PutBound({"uid-a", "main", kNpu, {"8"}, kStart});
  ledger.Reconcile({}, kResources, kStart);  // kubelet has not named it yet
  EXPECT_TRUE(ledger.MayBeInUse({kNpu, "8"}));
  ledger.Reconcile({holding}, kResources, kStart);
  ledger.Reconcile({}, kResources, kStart);
  EXPECT_FALSE(ledger.MayBeInUse({kNpu, "8"}));

  ledger.inbox()->PutBound({"uid-b", "main", kNpu, {"8"}, kStart});
  ledger.Reconcile({}, kResources, kStart + kLimit);
  EXPECT_FALSE(ledger.MayBeInUse({kNpu, "8"}));
}

TEST(LedgerTest, APodThatIsNoLongerListedHasEndedThoughItsCheckpointEntryStays) {
  Ledger ledger(Duration(600'000));
  const Holding both{"default", "a", "uid-a", "main", "dummy.com/npu", {"0"}};
  const Holding init{"", "", "uid-b", "init", "dummy.com/npu", {"1"}};
  Holding stale = both;
  stale.pod_namespace = stale.pod = "";
  ledger.Reconcile({both, init}, kResources, Steady());

  ledger.Reconcile({stale, init}, kResources, Steady());
  EXPECT_EQ(ledger.holdings(), std::vector<Holding>{init});

  // It stays ended as long as the entry exists, also for the next kubelet.
  ledger.KubeletRestarted();
  ledger.Reconcile({stale, init}, kResources, Steady());
  EXPECT_EQ(ledger.holdings(), std::vector<Holding>{init});
}

TEST(LedgerTest, APodThatARestartedKubeletDoesNotNameYetHoldsWhatItHeld) {
  Ledger ledger(Duration(600'000));
  const Holding both{"default", "a", "uid-a", "main", "dummy.com/npu", {"0"}};
  Holding unlisted = both;
  unlisted.pod_namespace = unlisted.pod = "";
  ledger.Reconcile({both}, kResources, Steady());

  ledger.KubeletRestarted();
  ledger.Reconcile({unlisted}, kResources, Steady());
  EXPECT_EQ(ledger.holdings(), std::vector<Holding>{both});
  EXPECT_TRUE(ledger.AnyUnlisted());
  EXPECT_TRUE(ledger.AnyMayHaveEnded());

  // Once this kubelet has named the pod, its silence is the pod's end.
  ledger.Reconcile({both}, kResources, Steady());
  EXPECT_FALSE(ledger.AnyUnlisted());
  EXPECT_FALSE(ledger.AnyMayHaveEnded());
  ledger.Reconcile({unlisted}, kResources, Steady());
  EXPECT_EQ(ledger.holdings(), std::vector<Holding>());
}

}  // namespace
}  // namespace tessera
