// SPDX-License-Identifier: Apache-2.0
// Hardware that several resources may find.
#include <gtest/gtest.h>

#include "node/node_under_test.h"

namespace tessera {
namespace {

// Two resources: `other` may have the same hardware as kSource.
class HardwareTest : public testing::Test, public NodeUnderTest {
 protected:
  HardwareTest() {
    for (const std::string& source : {kSource, kOther}) node_.Configure(source, true);
    node_.ledger().Reconcile({}, {kSource, kOther}, clock_.Now());
  }
  void Hold(const std::string& id, const std::string& parent = "") {
    Device held = Npu(id);
    held.parent = parent;
    node_.UpdateDevices(kOther, {held});
    node_.ledger().inbox()->Put(kOther, {id}, clock_.Now());
  }
  void Offer(const std::string& id, const std::string& parent = "") {
    Device device = Npu(id);
    device.parent = parent;
    node_.UpdateDevices(kSource, {device});
    node_.Observe(kSource, {Good(id)});
  }
  static Error HeldAs(const std::string& id) {
    return {Reason::kHeldElsewhere, "it may still be in use as dummy.com/other/" + id};
  }

  static Error GrantedAs(const std::string& id) {
    return {Reason::kHeldElsewhere, "it may still be granted as dummy.com/other/" + id};
  }

  const std::string kOther = "dummy.com/other";
};

TEST_F(HardwareTest, WhatAnotherResourceMayHaveGrantedIsNotOffered) {
  Hold("A");
  Offer("A");
  EXPECT_EQ(Trouble("A"), HeldAs("A"));
}

TEST_F(HardwareTest, NorIsAPartOfItOrTheWhole) {
  Hold("A");
  Offer("A-1", "A");
  EXPECT_EQ(Trouble("A-1"), HeldAs("A"));

  Hold("B-1", "B");
  Offer("B");
  EXPECT_EQ(Trouble("B"), HeldAs("B-1"));
}

TEST_F(HardwareTest, NorWhatAnotherResourceStillOffers) {
  node_.UpdateDevices(kOther, {Npu("A")});
  Offer("A");
  EXPECT_EQ(Trouble("A"), GrantedAs("A"));
  TakeTold();

  node_.UpdateDevices(kOther, {});
  EXPECT_EQ(TakeTold(), "bad:dummy.com/other A=unhealthy change:dummy.com/npu ");
  EXPECT_EQ(Trouble("A"), std::nullopt);
}

TEST_F(HardwareTest, OtherIdsAreOtherHardware) {
  Hold("A");
  Offer("B");
  EXPECT_EQ(Trouble("B"), std::nullopt);
}

TEST_F(HardwareTest, OnceTheOtherHasNoneOfItItIsToldOf) {
  node_.UpdateDevices(kOther, {Npu("A")});
  node_.UpdateDevices(kOther, {});
  TakeTold();
  node_.UpdateDevices(kOther, {});
  EXPECT_EQ(TakeTold(), "bad:dummy.com/other change:dummy.com/npu ");
}

TEST_F(HardwareTest, WhatARetiredResourceMayHaveGrantedIsNotOffered) {
  Hold("A");
  node_.Retire(kOther);
  Offer("A");
  EXPECT_EQ(Trouble("A"), HeldAs("A"));

  EXPECT_FALSE(node_.EndRetired(kOther));
  EXPECT_EQ(Trouble("A"), HeldAs("A"));

  EndPending();
  TakeTold();
  EXPECT_TRUE(node_.EndRetired(kOther));
  EXPECT_EQ(TakeTold(), "change:dummy.com/npu ");
  EXPECT_EQ(Trouble("A"), std::nullopt);
}

TEST_F(HardwareTest, NorIsItAfterARestart) {
  Hold("A-1", "A");
  RecordedNode next(clock_, {});
  next.Restore(SavedFacts(), {});
  next.Retire(kOther);
  next.Configure(kSource, true);

  next.UpdateDevices(kSource, {Npu("A")});

  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kSource, "A"})), HeldAs("A-1"));
}

TEST_F(HardwareTest, NorWhatKubeletMayStillGrantOfARetiredResource) {
  node_.UpdateDevices(kOther, {Npu("A")});
  node_.Retire(kOther);
  Offer("A");
  EXPECT_EQ(Trouble("A"), GrantedAs("A"));

  TakeTold();
  EXPECT_TRUE(node_.EndRetired(kOther));
  EXPECT_EQ(TakeTold(), "change:dummy.com/npu ");
  EXPECT_EQ(Trouble("A"), std::nullopt);
}

// A fault that only a reset clears, while its hardware moves between resources.
class FaultyHardwareTest : public HardwareTest {
 protected:
  FaultyHardwareTest() {
    Offer("A");
    Strike(kSource, "A");
  }
  void Strike(const std::string& source, const std::string& id) {
    Observation xid = Fatal(id, "XID 79");
    xid.key.source = source;
    xid.evidence.remedy = Remedy::kReset;
    node_.Observe(source, {xid});
  }
  void Reset(const std::string& source, const std::string& id) {
    node_.Observe(
        source,
        {{{source, id},
          {EvidenceKind::kReset, EvidenceSource::kCheck, Reason::kDeviceLost, "it was reset"}}});
  }
  // Passes as many checks as a recovery needs.
  void Pass(const std::string& source, const std::string& id) {
    for (int i = 0; i < 5; ++i) {
      clock_.Advance(Duration(10'000));
      node_.Observe(source, {{{source, id}, Good(id).evidence}});
    }
  }
  void Rename(const std::string& from, const std::string& to, const std::string& id) {
    clock_.Advance(Duration(1'000));
    node_.Retire(from);
    node_.Configure(to, true);
    node_.UpdateDevices(to, {Npu(id)});
  }
  std::string DetailOf(const std::string& source, const std::string& id) {
    return node_.VerdictOf({source, id}).detail;
  }
  bool IsOffered(const std::string& source, const std::string& id) {
    return node_.VerdictOf({source, id}).offered();
  }
};

TEST_F(FaultyHardwareTest, ItGoesWithTheHardwareAndIsToBeSaved) {
  node_.VerdictsSaved();
  const Verdict verdict = node_.VerdictOf({kSource, "A"});

  Rename(kSource, kOther, "A");

  EXPECT_EQ(node_.VerdictOf({kOther, "A"}), verdict);
  EXPECT_EQ(UnsavedIds(), std::vector<std::string>{"A"});
  EXPECT_TRUE(node_.fall_unsaved());
}

TEST_F(FaultyHardwareTest, SoItDoesWhenTheFormerSourceIsGoneFirst) {
  node_.Retire(kSource);
  EXPECT_TRUE(node_.EndRetired(kSource));
  EXPECT_EQ(node_.departed_verdicts().size(), 1u);

  node_.UpdateDevices(kOther, {Npu("A"), Npu("B")});

  EXPECT_EQ(DetailOf(kOther, "A"), "XID 79");
  EXPECT_EQ(node_.VerdictOf({kOther, "B"}), Verdict());
}

TEST_F(FaultyHardwareTest, SoItDoesAfterARestart) {
  RecordedNode next(clock_, {});
  next.Restore({}, SavedVerdicts());
  next.Configure(kOther, true);

  next.UpdateDevices(kOther, {Npu("A")});

  EXPECT_EQ(next.VerdictOf({kOther, "A"}).detail, "XID 79");
}

TEST_F(FaultyHardwareTest, SoItDoesWhenItMovesBetweenSourcesThatStay) {
  node_.UpdateDevices(kSource, {});
  node_.UpdateDevices(kOther, {Npu("A")});

  EXPECT_EQ(DetailOf(kOther, "A"), "XID 79");
}

TEST_F(FaultyHardwareTest, ItConcernsThePartsOfTheHardware) {
  Device part = Npu("A-1");
  part.parent = "A";
  node_.UpdateDevices(kSource, {});
  node_.UpdateDevices(kSource, {});

  node_.UpdateDevices(kOther, {part});

  EXPECT_EQ(DetailOf(kOther, "A-1"), "XID 79");
}

TEST_F(FaultyHardwareTest, WhatWasMendedUnderAnotherNameDoesNotComeBack) {
  Rename(kSource, kOther, "A");
  Reset(kOther, "A");
  Pass(kOther, "A");
  EXPECT_TRUE(IsOffered(kOther, "A"));
  EXPECT_TRUE(node_.EndRetired(kSource));

  Rename(kOther, kSource, "A");
  Pass(kSource, "A");

  EXPECT_TRUE(IsOffered(kSource, "A"));
}

TEST_F(FaultyHardwareTest, WhatStruckUnderAnotherNameComesAlong) {
  node_.ledger().inbox()->Put(kOther, {"B"}, clock_.Now());
  node_.UpdateDevices(kOther, {Npu("B")});
  node_.Observe(kOther, {{{kOther, "B"}, Good("B").evidence}});
  Rename(kOther, kSource, "B");
  Strike(kSource, "B");

  Rename(kSource, kOther, "B");

  EXPECT_EQ(DetailOf(kOther, "B"), "XID 79");
}

// As after a change of how a source names its devices: by their addresses, "1" and "2".
class RenamedHardwareTest : public HardwareTest {
 protected:
  RenamedHardwareTest() { node_.UpdateDevices(kSource, {At("1", "1"), At("2", "2")}); }
  static Device At(const std::string& id, const std::string& address,
                   const std::string& parent = "") {
    Device device = Npu(id);
    device.address = address;
    device.parent = parent;
    return device;
  }
  void Strike(const std::string& id) {
    Observation xid = Fatal(id, "XID 79");
    xid.evidence.remedy = Remedy::kReset;
    node_.Observe(kSource, {xid});
  }
  std::string DetailOf(const std::string& id) { return node_.VerdictOf({kSource, id}).detail; }
  std::vector<std::string> Cordoned() {
    std::vector<std::string> ids;
    for (const auto& [key, cordon] : node_.cordons()) ids.push_back(key.id);
    return ids;
  }
};

TEST_F(RenamedHardwareTest, AVerdictThatOutlastsChecksIsOfTheNewId) {
  Strike("1");
  node_.VerdictsSaved();
  node_.UpdateDevices(kSource, {At("X", "1"), At("Y", "2")});
  EXPECT_EQ(DetailOf("X"), "XID 79");
  EXPECT_EQ(DetailOf("Y"), "");
  EXPECT_TRUE(node_.fall_unsaved());
}

TEST_F(RenamedHardwareTest, ACordonIsOfTheNewIdAlone) {
  ASSERT_TRUE(node_.Cordon("dummy.com/npu/1", "bad fan"));
  node_.UpdateDevices(kSource, {At("X", "1"), At("Y", "2")});
  EXPECT_EQ(Cordoned(), std::vector<std::string>{"X"});
  node_.UpdateDevices(kSource, {At("1", "1"), At("2", "2")});
  EXPECT_EQ(Cordoned(), std::vector<std::string>{"1"});
}

TEST_F(RenamedHardwareTest, APartIsThePartOfTheSameNumber) {
  node_.UpdateDevices(kSource, {At("1-0", "1", "1"), At("1-1", "1", "1")});
  Strike("1-1");
  node_.UpdateDevices(kSource, {At("X-0", "1", "X"), At("X-1", "1", "X")});
  EXPECT_EQ(DetailOf("X-0"), "");
  EXPECT_EQ(DetailOf("X-1"), "XID 79");
}

TEST_F(RenamedHardwareTest, ADeviceThatComesLaterInItsPlaceIsAnother) {
  Strike("1");
  node_.ledger().inbox()->Put(kSource, {"1"}, clock_.Now());
  node_.UpdateDevices(kSource, {At("2", "2")});
  node_.UpdateDevices(kSource, {At("X", "1"), At("2", "2")});
  EXPECT_EQ(DetailOf("X"), "");
}

TEST_F(RenamedHardwareTest, AnotherCardInTheSameSlotIsAnother) {
  node_.UpdateDevices(kSource, {At("X", "1"), At("Y", "2")});
  Strike("X");
  ASSERT_TRUE(node_.Cordon("dummy.com/npu/X", "bad fan"));
  node_.UpdateDevices(kSource, {At("Z", "1"), At("Y", "2")});
  EXPECT_EQ(DetailOf("Z"), "");
  EXPECT_EQ(Cordoned(), std::vector<std::string>{"X"});
}

TEST_F(FaultyHardwareTest, AResetIsOneForAllThatHaveTheHardware) {
  Rename(kSource, kOther, "A");

  Reset(kOther, "A");

  EXPECT_EQ(node_.VerdictOf({kSource, "A"}).remedy, Remedy::kNone);
}

TEST_F(HardwareTest, WhatAGoodCheckMendsIsFoundOutAnew) {
  Offer("A");
  node_.Observe(kSource, {Fatal("A", "on fire")});

  node_.UpdateDevices(kOther, {Npu("A")});

  EXPECT_EQ(node_.VerdictOf({kOther, "A"}), Verdict());
}

TEST_F(HardwareTest, ACordonHoldsWhicheverResourceHasTheHardware) {
  Offer("A");
  ASSERT_TRUE(node_.Cordon("dummy.com/npu/A", "bad fan"));
  node_.Retire(kSource);
  EXPECT_TRUE(node_.EndRetired(kSource));

  Device part = Npu("A-1");
  part.parent = "A";
  node_.UpdateDevices(kOther, {Npu("A"), part});
  node_.Observe(kOther, {{{kOther, "A"}, Good("A").evidence}});
  const Device& device = *node_.inventory()->Find({kOther, "A"});
  const Error cordoned{Reason::kCordoned, "cordoned: bad fan"};
  EXPECT_EQ(node_.TroubleOf(device), cordoned);
  EXPECT_EQ(node_.TroubleOf(*node_.inventory()->Find({kOther, "A-1"})), cordoned);

  ASSERT_TRUE(node_.Cordon("dummy.com/other/A", "once more"));
  EXPECT_EQ(node_.Uncordon("dummy.com/other/A")->Text(), "dummy.com/other/A");
  EXPECT_EQ(node_.TroubleOf(device), std::nullopt);
}

}  // namespace
}  // namespace tessera
