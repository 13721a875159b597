// SPDX-License-Identifier: Apache-2.0
#include "hami/protocol/hami_lock.h"

#include "api/hami_cluster.h"
#include "base/captured_log_test.h"

namespace tessera {
namespace {

using Words = std::vector<std::string>;

class HamiLockTest : public HamiClusterTest {
 protected:
  HamiLock& lock() {
    if (!lock_) {
      lock_ = std::make_unique<HamiLock>(
          loop_, client(), "n1",
          HamiLock::Owners{.bound_here =
                               [this](const hami::LockOwner& owner) {
                                 return known_ && known_->name == owner.pod ? &*known_ : nullptr;
                               },
                           .needed = [this](const kube::Pod&) { return needed_; },
                           .fields = [] { return kube::PodFields(); }},
          retries_);
    }
    return *lock_;
  }
  // Checks the lock, and returns the requests that it made: exactly this many.
  Words Look(size_t requests) {
    lock().CheckLock();
    EXPECT_TRUE(RunUntil([&] { return asked_.size() >= requests; }));
    EXPECT_TRUE(Get().has_value());  // its answer comes after theirs
    Words targets = Targets();
    targets.pop_back();
    return targets;
  }

  Backoff retries_{Duration(1), Duration(1)};
  std::optional<kube::Pod> known_;
  bool needed_ = false;
  int changes_ = 0;  // changes of the node by another client
  CapturedLog told_;
  std::unique_ptr<HamiLock> lock_;
};

TEST_F(HamiLockTest, OfAPodThatIsBoundHereIsLetGoOf) {
  Placed("a", "");
  known_ = Seen("a");
  Lock("a");

  EXPECT_EQ(Look(2), (Words{"GET /api/v1/nodes/n1", "PATCH /api/v1/nodes/n1"}));

  EXPECT_FALSE(Locked());
  EXPECT_EQ(patches(), Words{R"(n1 {"metadata":{"resourceVersion":"2",)"
                             R"("annotations":{"hami.io/mutex.lock":null}}})"});
}

TEST_F(HamiLockTest, ThatAWatchHasToldOfTheNodeIsNotReadFor) {
  Placed("a", "");
  known_ = Seen("a");
  Lock("a");
  lock().NodeChanged(NodeJson());

  EXPECT_EQ(Look(1), (Words{"PATCH /api/v1/nodes/n1"}));

  EXPECT_FALSE(Locked());
  EXPECT_EQ(patches(), Words{R"(n1 {"metadata":{"resourceVersion":"2",)"
                             R"("annotations":{"hami.io/mutex.lock":null}}})"});
}

TEST_F(HamiLockTest, WhereTheNodeIsAnotherThanTheWatchHasToldOfItIsRead) {
  Placed("a", "");
  known_ = Seen("a");
  Lock("a");
  lock().NodeChanged(NodeJson());
  ++objects_[kNode].version;

  EXPECT_EQ(Look(3),
            (Words{"PATCH /api/v1/nodes/n1", "GET /api/v1/nodes/n1", "PATCH /api/v1/nodes/n1"}));
  EXPECT_FALSE(Locked());
}

TEST_F(HamiLockTest, OfWhomTheWatchHasToldAndNobodyKnowsTheServerIsAskedForBoth) {
  Placed("a", "");
  Lock("a");
  lock().NodeChanged(NodeJson());

  EXPECT_EQ(Look(3), (Words{"GET /api/v1/nodes/n1", "GET /api/v1/namespaces/default/pods/a",
                            "PATCH /api/v1/nodes/n1"}));
  EXPECT_FALSE(Locked());
}

TEST_F(HamiLockTest, ThatTheWatchHasToldOfAsGoneIsLookedForAllTheSame) {
  Lock("a");
  lock().NodeChanged(NodeJson());
  objects_[kNode].annotations.erase(kLock);
  lock().NodeChanged(NodeJson());

  EXPECT_EQ(Look(1), (Words{"GET /api/v1/nodes/n1"}));
  EXPECT_EQ(patches(), Words{});
}

TEST_F(HamiLockTest, ThatTheWatchHasToldOfAsNeededMayBeAnotherByNow) {
  Placed("a", "");
  known_ = Seen("a");
  needed_ = true;
  Lock("a");
  lock().NodeChanged(NodeJson());
  Lock("gone");

  EXPECT_EQ(Look(3), (Words{"GET /api/v1/nodes/n1", "GET /api/v1/namespaces/default/pods/gone",
                            "PATCH /api/v1/nodes/n1"}));
  EXPECT_FALSE(Locked());
}

TEST_F(HamiLockTest, OfAPodThatIsNotKnownTheServerIsAsked) {
  Placed("a", "");
  Lock("a");

  EXPECT_EQ(Look(3), (Words{"GET /api/v1/nodes/n1", "GET /api/v1/namespaces/default/pods/a",
                            "PATCH /api/v1/nodes/n1"}));
  EXPECT_FALSE(Locked());
}

TEST_F(HamiLockTest, OfAPodThatIsNotBoundYetStays) {
  Pod("a").uid = "u";
  Lock("a");

  Look(2);

  EXPECT_TRUE(Locked());
  EXPECT_EQ(patches(), Words{});
}

TEST_F(HamiLockTest, OfAPodThatIsGoneEndedOrElsewhereIsLetGoOf) {
  Lock("gone");
  Look(3);
  EXPECT_FALSE(Locked());

  Pod("ended").uid = "u";
  Pod("ended").phase = "Failed";
  Lock("ended");
  Look(asked_.size() + 3);
  EXPECT_FALSE(Locked());

  Pod("elsewhere").uid = "u";
  Pod("elsewhere").node = "n2";
  Lock("elsewhere");
  Look(asked_.size() + 3);
  EXPECT_FALSE(Locked());
}

TEST_F(HamiLockTest, ThatSomebodyElseNeedsStaysUntilThePodHasEnded) {
  needed_ = true;
  Placed("a", "");
  Lock("a");
  Look(2);
  EXPECT_TRUE(Locked());

  Pod("a").phase = "Succeeded";
  Look(asked_.size() + 3);
  EXPECT_FALSE(Locked());
}

TEST_F(HamiLockTest, WithoutAnOwnerIsHamisAndOneThatNobodyCanReadIsToldOfOnce) {
  objects_[kNode].annotations[kLock] = "2026-08-21T09:30:00Z";
  Look(1);
  EXPECT_EQ(told_.Take(), "");

  objects_[kNode].annotations[kLock] = "a,b";
  Look(asked_.size() + 1);
  Look(asked_.size() + 1);

  EXPECT_TRUE(Locked());
  EXPECT_TRUE(told_.Take().starts_with("WARN HAMi's lock of the node has no readable owner"));
  EXPECT_EQ(told_.text(), "");
}

TEST_F(HamiLockTest, OneThatWasTakenMeanwhileIsAnother) {
  Placed("a", "");
  Pod("b").uid = "u";
  Lock("a");
  before_patch_ = [this] { Lock("b"); };

  lock().CheckLock();

  ASSERT_TRUE(RunUntil([&] { return LastTarget() == "GET " + PathOf("b"); }));
  ASSERT_TRUE(Get().has_value());
  EXPECT_TRUE(Locked());
  EXPECT_EQ(patches(), Words{});
}

TEST_F(HamiLockTest, AfterAConflictItIsLookedAtAgainAtOnceButNotWithoutEnd) {
  retries_ = Backoff(Duration(3'600'000), Duration(3'600'000));
  Lock("gone");
  const auto change = [this] {
    ++objects_[kNode].version;
    ++changes_;
  };
  before_patch_ = change;
  lock().CheckLock();
  EXPECT_TRUE(RunUntil([&] { return !Locked(); }));
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(told_.Take(), "");

  Lock("gone");
  before_patch_ = each_patch_ = change;
  const size_t before = asked_.size();
  lock().CheckLock();
  ASSERT_TRUE(RunUntil([&] { return asked_.size() == before + 12; }));
  ASSERT_TRUE(Get().has_value());
  EXPECT_EQ(asked_.size(), before + 13) << "the last is the test's own";
  EXPECT_TRUE(Locked());
  EXPECT_TRUE(told_.Take().starts_with("WARN cannot check HAMi's lock of the node"));
}

TEST_F(HamiLockTest, ItIsLookedAtAgainWhileTheServerCannotAnswer) {
  limits_.deadline = Duration(100);  // below the client's own pauses
  Lock("gone");
  const std::string busy = kube::Refusal(503, "ServiceUnavailable", "starting");
  failures_ = {busy, busy, busy};

  lock().CheckLock();

  EXPECT_TRUE(RunUntil([&] { return !Locked(); }));
}

TEST_F(HamiLockTest, IsLookedAtWhereTheNodeIsSeenToHaveOne) {
  lock().NodeSeen(NodeJson());
  ASSERT_TRUE(Get().has_value());
  EXPECT_EQ(Targets(), Words{"GET /api/v1/nodes/n1"}) << "the test's own";

  Lock("gone");
  lock().NodeSeen(NodeJson());

  EXPECT_TRUE(RunUntil([&] { return !Locked(); }));
}

TEST_F(HamiLockTest, OfSeveralWishesMeanwhileThereIsOneMoreLook) {
  for (int i = 0; i < 5; ++i) lock().CheckLock();

  ASSERT_TRUE(RunUntil([&] { return asked_.size() == 2; }));
  ASSERT_TRUE(Get().has_value());
  EXPECT_EQ(asked_.size(), 3U);
}

}  // namespace
}  // namespace tessera
