// SPDX-License-Identifier: Apache-2.0
// What several resources may each call their own.
#include <gtest/gtest.h>

#include "agent/node_under_test.h"

namespace tessera::agent {
namespace {

// Two resources of hardware: what `other` has may be the same as what kSource has.
class HardwareTest : public testing::Test, public NodeUnderTest {
 protected:
  HardwareTest() {
    for (const std::string& source : {kSource, kOther}) node_.Configure(source, true);
    node_.ledger().Reconcile({}, {kSource, kOther}, clock_.Now());
  }
  void Hold(const std::string& id, const std::string& parent = "") {
    Device held = Npu(id);
    held.parent = parent;
    node_.Found(kOther, {held});
    node_.ledger().inbox()->Put(kOther, {id}, clock_.Now());
  }
  void Offer(const std::string& id, const std::string& parent = "") {
    Device device = Npu(id);
    device.parent = parent;
    node_.Found(kSource, {device});
    node_.Observe(kSource, {Good(id)});
  }
  static Error HeldAs(const std::string& id) {
    return {Reason::kHeldElsewhere, "it may still be in use as dummy.com/other/" + id};
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

TEST_F(HardwareTest, WhatNobodyHoldsIsNoHindrance) {
  node_.Found(kOther, {Npu("A")});
  Offer("A");
  EXPECT_EQ(Trouble("A"), std::nullopt);
}

TEST_F(HardwareTest, OtherIdsAreOtherHardware) {
  Hold("A");
  Offer("B");
  EXPECT_EQ(Trouble("B"), std::nullopt);
}

TEST_F(HardwareTest, OnceTheOtherHasNoneOfItItIsToldOf) {
  node_.Found(kOther, {Npu("A")});
  node_.Found(kOther, {});
  TakeTold();
  node_.Found(kOther, {});
  EXPECT_EQ(TakeTold(), "bad:dummy.com/other change:dummy.com/npu ");
}

TEST_F(HardwareTest, WhatARetiredResourceMayHaveGrantedIsNotOffered) {
  Hold("A");
  node_.Retire(kOther);
  Offer("A");
  EXPECT_EQ(Trouble("A"), HeldAs("A"));
  TakeTold();

  EndPending();
  EXPECT_TRUE(node_.EndRetired(kOther));
  EXPECT_EQ(TakeTold(), "change:dummy.com/npu ");
  EXPECT_EQ(Trouble("A"), std::nullopt);
}

TEST_F(HardwareTest, NorIsItAfterARestart) {
  Hold("A-1", "A");
  Node next(clock_, {}, *this);
  next.Restore(SavedFacts(), {});
  next.Retire(kOther);
  next.Configure(kSource, true);

  next.Found(kSource, {Npu("A")});

  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kSource, "A"})), HeldAs("A-1"));
}

TEST_F(HardwareTest, WhatGoodChecksDoNotMendGoesWithTheHardwareToAnotherResource) {
  Offer("A");
  Observation xid = Fatal("A", "XID 79");
  xid.evidence.remedy = Remedy::kReset;
  node_.Observe(kSource, {xid});
  const Verdict verdict = node_.VerdictOf({kSource, "A"});

  node_.Found(kOther, {Npu("A")});

  EXPECT_EQ(node_.VerdictOf({kOther, "A"}), verdict);
}

TEST_F(HardwareTest, SoItDoesWhenTheHardwareHasLeftTheFormerFirst) {
  Offer("A");
  Observation xid = Fatal("A", "XID 79");
  xid.evidence.remedy = Remedy::kReset;
  node_.Observe(kSource, {xid});
  const Verdict verdict = node_.VerdictOf({kSource, "A"});
  node_.Retire(kSource);
  EXPECT_TRUE(node_.EndRetired(kSource));

  node_.Found(kOther, {Npu("A"), Npu("B")});

  EXPECT_EQ(node_.VerdictOf({kOther, "A"}), verdict);
  EXPECT_EQ(node_.VerdictOf({kOther, "B"}), Verdict());
}

TEST_F(HardwareTest, WhatAGoodCheckMendsIsFoundOutAnew) {
  Offer("A");
  node_.Observe(kSource, {Fatal("A", "on fire")});

  node_.Found(kOther, {Npu("A")});

  EXPECT_EQ(node_.VerdictOf({kOther, "A"}), Verdict());
}

TEST_F(HardwareTest, ACordonHoldsWhicheverResourceHasTheHardware) {
  Offer("A");
  ASSERT_TRUE(node_.Cordon("dummy.com/npu/A", "bad fan"));
  node_.Retire(kSource);
  EXPECT_TRUE(node_.EndRetired(kSource));

  node_.Found(kOther, {Npu("A")});
  node_.Observe(kOther, {{{kOther, "A"}, Good("A").evidence}});
  const Device& device = *node_.inventory()->Find({kOther, "A"});
  EXPECT_EQ(node_.TroubleOf(device), (Error{Reason::kCordoned, "cordoned: bad fan"}));

  EXPECT_EQ(node_.Uncordon("A")->Text(), "dummy.com/other/A");
  EXPECT_EQ(node_.TroubleOf(device), std::nullopt);
}

}  // namespace
}  // namespace tessera::agent
