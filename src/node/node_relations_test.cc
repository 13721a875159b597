// SPDX-License-Identifier: Apache-2.0
// Relations between devices by their traits.
#include <gtest/gtest.h>

#include "node/node_under_test.h"

namespace tessera {
namespace {

// Healthy devices of two sources.
class RelationsTest : public testing::Test, public NodeUnderTest {
 protected:
  RelationsTest() { node_.ledger().Reconcile({}, {kSource, kOther}, clock_.Now()); }

  static Device Having(const std::string& id, DeviceTraits traits) {
    Device device = Npu(id);
    device.traits = std::move(traits);
    return device;
  }
  void Offer(const std::string& source, const std::vector<Device>& devices) {
    node_.UpdateDevices(source, devices);
    for (const Device& device : devices) {
      node_.Observe(source, {{{source, device.key.id}, Good("").evidence}});
    }
    TakeTold();
  }
  void Grant(const std::string& source, const std::string& id) {
    node_.ledger().inbox()->Put(source, {id}, clock_.Now());
    node_.LookAtRivals();
  }
  std::optional<Error> TroubleOf(const std::string& source, const std::string& id) {
    return node_.TroubleOf(*node_.inventory()->Find({source, id}));
  }
  static Error Takes(const std::string& hardware, const std::string& other) {
    return {Reason::kExcluded,
            "it takes " + hardware + ", as does " + other + ", which may be in use"};
  }

  const std::string kOther = "dummy.com/other";
};

class NodeExclusionTest : public RelationsTest {
 protected:
  NodeExclusionTest() {
    Offer(kSource, {Having("0", {.takes = {"a", "b"}}), Having("1", {.takes = {"c"}})});
    Offer(kOther, {Having("0-a", {.takes = {"a"}}), Having("0-b", {.takes = {"b"}})});
  }
};

TEST_F(NodeExclusionTest, WhileNobodyHasOneOfThemAllAreOffered) {
  EXPECT_EQ(TroubleOf(kSource, "0"), std::nullopt);
  EXPECT_EQ(TroubleOf(kOther, "0-a"), std::nullopt);
}

TEST_F(NodeExclusionTest, WhatIsGrantedKeepsTheOthersOutInWhateverSource) {
  Grant(kSource, "0");

  EXPECT_EQ(TakeTold(), "bad:dummy.com/other ");
  EXPECT_EQ(TroubleOf(kSource, "0"), std::nullopt);
  EXPECT_EQ(TroubleOf(kOther, "0-a"), Takes("a", "dummy.com/npu/0"));
  EXPECT_EQ(TroubleOf(kOther, "0-b"), Takes("b", "dummy.com/npu/0"));
  EXPECT_EQ(TroubleOf(kSource, "1"), std::nullopt);
}

TEST_F(NodeExclusionTest, APartKeepsTheWholeOutAndNotTheOtherPart) {
  Grant(kOther, "0-b");

  EXPECT_EQ(TakeTold(), "bad:dummy.com/npu ");
  EXPECT_EQ(TroubleOf(kSource, "0"), Takes("b", "dummy.com/other/0-b"));
  EXPECT_EQ(TroubleOf(kOther, "0-a"), std::nullopt);
}

TEST_F(NodeExclusionTest, TheyReturnOnceNobodyHasIt) {
  Grant(kSource, "0");
  EndPending();
  TakeTold();

  node_.LookAtRivals();

  EXPECT_EQ(TakeTold(), "change:dummy.com/other ");
  EXPECT_EQ(TroubleOf(kOther, "0-a"), std::nullopt);
}

TEST_F(NodeExclusionTest, WhatIsFoundBesideAHeldOneIsOutFromTheFirst) {
  Grant(kSource, "1");

  Offer(kOther, {Having("1-c", {.takes = {"c"}})});

  EXPECT_EQ(TroubleOf(kOther, "1-c"), Takes("c", "dummy.com/npu/1"));
}

// PutResult::excludes is false: the grant causes no check of other devices.
TEST_F(NodeExclusionTest, WhatTakesHardwareThatNoOtherTakesKeepsNobodyOut) {
  EXPECT_EQ(node_.ledger().inbox()->Put(kSource, {"1"}, clock_.Now()), PutResult());
  EXPECT_EQ(node_.ledger().inbox()->Put(kSource, {"0"}, clock_.Now()),
            (PutResult{.rival = std::nullopt, .excludes = true}));
}

TEST_F(NodeExclusionTest, RivalsThatLeftKeepNobodyOut) {
  EndPending();
  for (int scan = 0; scan < 2; ++scan) node_.UpdateDevices(kOther, {});
  ASSERT_EQ(KnownDevices(), "dummy.com/npu/0 dummy.com/npu/1 ");

  EXPECT_EQ(node_.ledger().inbox()->Put(kSource, {"0"}, clock_.Now()), PutResult());
}

TEST_F(NodeExclusionTest, AfterARestartThoseAreOutOfWhichTheCheckpointHasAnother) {
  RecordedNode next(clock_, {});
  next.Restore(SavedFacts(), SavedVerdicts());
  EXPECT_TRUE(next.TroubleOf(*next.inventory()->Find({kSource, "0"})));
  EXPECT_TRUE(next.TroubleOf(*next.inventory()->Find({kOther, "0-a"})));

  next.ledger().Presume({{"", "", "", "main", kSource, {"0"}}});
  next.LookAtRivals();

  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kSource, "0"})), std::nullopt);
  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kOther, "0-a"})),
            Takes("a", "dummy.com/npu/0"));
}

TEST_F(NodeExclusionTest, WhatIsPreparedKeepsTheOthersOutThoughNobodyHoldsIt) {
  node_.SetPrepared({{kSource, "0"}});
  node_.LookAtRivals();

  EXPECT_EQ(TakeTold(), "bad:dummy.com/other ");
  EXPECT_EQ(TroubleOf(kOther, "0-a"), Takes("a", "dummy.com/npu/0"));
  EXPECT_EQ(node_.ledger().inbox()->Put(kOther, {"0-b"}, clock_.Now()),
            (PutResult{.rival = DeviceKey{kSource, "0"}}));

  node_.SetPrepared({});
  node_.LookAtRivals();
  EXPECT_EQ(TroubleOf(kOther, "0-a"), std::nullopt);
}

class NodeBundleTest : public RelationsTest {
 protected:
  NodeBundleTest() {
    Offer(kSource, {Having("0", {.bundle = "board"}), Having("1", {.bundle = "board"}), Npu("2")});
    Offer(kOther, {Having("3", {.bundle = "board"})});
  }
};

TEST_F(NodeBundleTest, OneThatIsOutTakesThoseAlongThatGoTogetherWithIt) {
  EXPECT_EQ(Trouble("0"), std::nullopt);

  node_.Observe(kSource, {Fatal("1", "on fire")});

  EXPECT_EQ(Trouble("0"),
            (Error{Reason::kFatalEvent, "it goes together with 1, which is out: on fire"}));
  EXPECT_EQ(Trouble("1"), (Error{Reason::kFatalEvent, "on fire"}));
  EXPECT_EQ(Trouble("2"), std::nullopt);
}

TEST_F(NodeBundleTest, TheSameNameOfAnotherSourceIsAnotherBundle) {
  node_.Observe(kSource, {Fatal("1", "on fire")});

  EXPECT_EQ(TroubleOf(kOther, "3"), std::nullopt);
}

TEST_F(NodeBundleTest, ACordonOfOneConcernsAllOfThem) {
  ASSERT_TRUE(node_.Cordon("dummy.com/npu/0", "loud"));

  EXPECT_EQ(Trouble("1"),
            (Error{Reason::kCordoned, "it goes together with 0, which is out: cordoned: loud"}));
}

// Device 0 of kOther is made of 0 and 1 of kSource, and others of others.
class NodeComposedTest : public RelationsTest {
 protected:
  NodeComposedTest() {
    Offer(kSource, {Having("0", {.takes = {"a"}}), Having("1", {.takes = {"b"}}),
                    Having("2", {.takes = {"c"}})});
    Offer(kOther, {Having("0", {.takes = {"a", "b"}, .parts = {{kSource, "0"}, {kSource, "1"}}})});
  }
};

TEST_F(NodeComposedTest, ItIsOutWhileAPartOfItIs) {
  node_.Observe(kSource, {Fatal("1", "on fire")});
  TakeTold();

  node_.LookAtRivals();

  EXPECT_EQ(TakeTold(), "bad:dummy.com/other ");
  EXPECT_EQ(TroubleOf(kOther, "0"),
            (Error{Reason::kFatalEvent, "its part dummy.com/npu/1 is out: on fire"}));
}

TEST_F(NodeComposedTest, APartThatIsNotThereIsOut) {
  Offer(kOther, {Having("1", {.takes = {"d"}, .parts = {{kSource, "9"}}})});

  EXPECT_EQ(TroubleOf(kOther, "1"),
            (Error{Reason::kVanished, "its part dummy.com/npu/9 is out: it is not there"}));
}

TEST_F(NodeComposedTest, WhoHasItHasItsPartsAndItIsNotOutForThat) {
  Grant(kOther, "0");

  EXPECT_EQ(TroubleOf(kSource, "0"), Takes("a", "dummy.com/other/0"));
  EXPECT_EQ(TroubleOf(kSource, "1"), Takes("b", "dummy.com/other/0"));
  EXPECT_EQ(TroubleOf(kSource, "2"), std::nullopt);
  EXPECT_EQ(TroubleOf(kOther, "0"), std::nullopt);
}

TEST_F(NodeComposedTest, APartIsTakenByItsName) {
  Offer(kOther, {Having("3", {.takes = {"dummy.com/npu/2"}, .parts = {{kSource, "2"}}})});
  Grant(kOther, "3");

  EXPECT_EQ(TroubleOf(kSource, "2"), Takes("dummy.com/npu/2", "dummy.com/other/3"));
  EXPECT_EQ(TroubleOf(kSource, "1"), std::nullopt);
}

TEST_F(NodeComposedTest, WhatIsMadeOfAPartIsOutWhileSomebodyHasThat) {
  Offer(kOther, {Having("3", {.takes = {"dummy.com/npu/2"}, .parts = {{kSource, "2"}}})});
  Grant(kSource, "2");

  EXPECT_EQ(TroubleOf(kOther, "3"), Takes("dummy.com/npu/2", "dummy.com/npu/2"));
}

TEST_F(NodeComposedTest, ASharedPartIsNotTaken) {
  Offer(kOther, {Having("3", {.takes = {"x"}, .parts = {{kSource, "2"}}})});
  Grant(kOther, "3");

  EXPECT_EQ(TroubleOf(kSource, "2"), std::nullopt);
}

TEST_F(NodeComposedTest, WhoHasOneThatIsGoneHasItsSharedPartsToo) {
  Offer(kOther, {Having("3", {.takes = {"x"}, .parts = {{kSource, "2"}}})});
  Grant(kOther, "3");

  Offer(kOther, {Having("4", {.takes = {"dummy.com/npu/2"}, .parts = {{kSource, "2"}}})});

  EXPECT_EQ(TroubleOf(kOther, "4"), Takes("dummy.com/npu/2", "dummy.com/other/3"));
  EXPECT_EQ(TroubleOf(kSource, "2"), Takes("dummy.com/npu/2", "dummy.com/other/3"));
}

TEST_F(NodeComposedTest, OneThatIsGoneLeavesASharedPartToTheOthers) {
  Offer(kOther, {Having("3", {.takes = {"x"}, .parts = {{kSource, "2"}}})});
  Grant(kOther, "3");

  Offer(kOther, {Having("4", {.takes = {"y"}, .parts = {{kSource, "2"}}})});

  EXPECT_EQ(TroubleOf(kOther, "4"), std::nullopt);
  EXPECT_EQ(TroubleOf(kSource, "2"), std::nullopt);
}

TEST_F(NodeComposedTest, ItIsOutWhileAPartIsPrepared) {
  node_.SetPrepared({{kSource, "1"}});
  node_.LookAtRivals();

  EXPECT_EQ(TroubleOf(kOther, "0"), Takes("b", "dummy.com/npu/1"));
}

TEST_F(NodeComposedTest, ItIsOutWhileSomebodyHasAPart) {
  Grant(kSource, "1");

  EXPECT_EQ(TroubleOf(kOther, "0"), Takes("b", "dummy.com/npu/1"));
  EXPECT_EQ(TroubleOf(kSource, "0"), std::nullopt);
}

// Device W of kOther is made of device A of kSource. Its parts are hardware that `kThird` may find.
class NodeComposedHardwareTest : public RelationsTest {
 protected:
  NodeComposedHardwareTest() {
    for (const std::string& source : {kSource, kThird}) node_.Configure(source, true);
    node_.ledger().Reconcile({}, {kSource, kOther, kThird}, clock_.Now());
    Offer(kSource, {Npu("A")});
    Offer(kOther, {Having("W", {.takes = {"dummy.com/npu/A"}, .parts = {{kSource, "A"}}})});
  }

  const std::string kThird = "dummy.com/third";
};

TEST_F(NodeComposedHardwareTest, ItIsOutWhileItsPartMayBeInUseUnderAnotherName) {
  node_.UpdateDevices(kThird, {Npu("A")});
  node_.ledger().inbox()->Put(kThird, {"A"}, clock_.Now());
  node_.LookAtRivals();

  EXPECT_EQ(TroubleOf(kOther, "W"), (Error{Reason::kHeldElsewhere,
                                           "its part dummy.com/npu/A is out: it may still be in "
                                           "use as dummy.com/third/A"}));
}

TEST_F(NodeComposedHardwareTest, WhoHasItHasItsPartsUnderEveryName) {
  Grant(kOther, "W");

  node_.Retire(kSource);
  node_.EndRetired(kSource);
  Offer(kThird, {Npu("A")});

  EXPECT_EQ(TroubleOf(kThird, "A"),
            (Error{Reason::kHeldElsewhere, "it may still be in use as dummy.com/npu/A"}));
}

}  // namespace
}  // namespace tessera
