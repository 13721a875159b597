// SPDX-License-Identifier: Apache-2.0
#include "scheduler/node_locks.h"

#include "api/hami_cluster.h"
#include "base/captured_log_test.h"

namespace tessera::scheduler {
namespace {

using Words = std::vector<std::string>;

// The clock stands at 1970-01-01T00:16:40Z.
class NodeLocksTest : public HamiClusterTest {
 protected:
  NodeLocks& locks() {
    if (!locks_) {
      locks_ = std::make_unique<NodeLocks>(loop_, clock_, client(),
                                           NodeLockLimits{.patience = patience_},
                                           [this] { return may_lock_; });
    }
    return *locks_;
  }
  void Take(const std::string& pod) {
    locks().Take("n1", {"default", pod}, [this, pod](const Status& taken) {
      ended_.push_back(pod + ": " + (taken ? "taken" : taken.error().message));
    });
  }
  bool HasEnded(size_t count) {
    return RunUntil([&] { return ended_.size() >= count; });
  }
  std::string LockText() { return objects_[kNode].annotations[kLock]; }
  void Unlock() {
    objects_[kNode].annotations.erase(kLock);
    ++objects_[kNode].version;
    locks().NodeSeen("n1", false);
  }

  FakeClock clock_;
  Duration patience_{3'600'000};
  Status may_lock_;
  Words ended_;
  CapturedLog log_;
  std::unique_ptr<NodeLocks> locks_;
};

TEST_F(NodeLocksTest, AFreeNodeIsLockedForThePodInTheVersionThatWasRead) {
  Take("a");

  ASSERT_TRUE(HasEnded(1));
  EXPECT_EQ(ended_, Words{"a: taken"});
  EXPECT_EQ(patches(), Words{R"(n1 {"metadata":{"resourceVersion":"1","annotations":)"
                             R"({"hami.io/mutex.lock":"1970-01-01T00:16:40Z,default,a"}}})"});
}

TEST_F(NodeLocksTest, OnePodAfterTheOtherHasItInTheirOrder) {
  Take("a");
  Take("b");
  Take("c");
  ASSERT_TRUE(HasEnded(1));
  Placed("a", "");
  Unlock();
  ASSERT_TRUE(HasEnded(2));
  EXPECT_EQ(LockText(), "1970-01-01T00:16:40Z,default,b");
  Placed("b", "");
  Unlock();
  ASSERT_TRUE(HasEnded(3));

  EXPECT_EQ(ended_, (Words{"a: taken", "b: taken", "c: taken"}));
}

TEST_F(NodeLocksTest, ALockForTheSamePodThatAnotherWroteIsWrittenAnew) {
  Lock("a");

  Take("a");

  ASSERT_TRUE(HasEnded(1));
  EXPECT_EQ(ended_, Words{"a: taken"});
  EXPECT_EQ(LockText(), "1970-01-01T00:16:40Z,default,a");
}

TEST_F(NodeLocksTest, WhatAnotherWroteForThePodSinceIsNotGivenBack) {
  Take("a");
  ASSERT_TRUE(HasEnded(1));
  Lock("a");

  locks().Release("n1", {"default", "a"});
  Take("b");

  ASSERT_TRUE(HasEnded(2));
  EXPECT_EQ(patches().size(), 2U);  // the patches that took the lock
  EXPECT_EQ(LockText(), "1970-01-01T00:16:40Z,default,b");
}

TEST_F(NodeLocksTest, WhoDoesNotLeadLocksNothing) {
  may_lock_ = Fail(Reason::kUnavailable, "another leads");
  Take("a");
  ASSERT_TRUE(HasEnded(1));
  EXPECT_EQ(ended_, Words{"a: another leads"});
  EXPECT_EQ(patches(), Words{});
}

TEST_F(NodeLocksTest, AConflictIsReadAnewAtOnce) {
  before_patch_ = [this] { ++objects_[kNode].version; };

  Take("a");

  ASSERT_TRUE(HasEnded(1));
  EXPECT_EQ(ended_, Words{"a: taken"});
}

TEST_F(NodeLocksTest, ALockWhosePodIsGoneIsTakenOver) {
  Lock("gone");

  Take("a");

  ASSERT_TRUE(HasEnded(1));
  EXPECT_EQ(LockText(), "1970-01-01T00:16:40Z,default,a");
}

TEST_F(NodeLocksTest, ALockWhosePodHasEndedOrWentElsewhereIsTakenOver) {
  Placed("done", "").phase = "Succeeded";
  Lock("done");
  Take("a");
  ASSERT_TRUE(HasEnded(1));
  EXPECT_EQ(LockText(), "1970-01-01T00:16:40Z,default,a");

  Placed("other", "").node = "n2";
  Lock("other");
  Take("b");
  ASSERT_TRUE(HasEnded(2));
  EXPECT_EQ(LockText(), "1970-01-01T00:16:40Z,default,b");
}

TEST_F(NodeLocksTest, AnExpiredLockIsTakenOverWhoseverItIs) {
  Placed("b", "");
  objects_[kNode].annotations[kLock] = "1970-01-01T00:11:39Z,default,b";

  Take("a");

  ASSERT_TRUE(HasEnded(1));
  EXPECT_EQ(ended_, Words{"a: taken"});
}

TEST_F(NodeLocksTest, WhoWaitsTooLongIsToldForWhomTheNodeIsLocked) {
  patience_ = Duration(0);
  Placed("b", "");
  Lock("b");

  Take("a");

  ASSERT_TRUE(HasEnded(1));
  EXPECT_EQ(ended_,
            Words{"a: node n1 is locked for pod default/b, whose devices are not granted yet"});
}

TEST_F(NodeLocksTest, ALockThatNobodyCanReadIsSaidToBeTakenAway) {
  objects_[kNode].annotations[kLock] = "tomorrow";

  Take("a");

  ASSERT_TRUE(HasEnded(1));
  EXPECT_EQ(ended_, Words{"a: node n1: hami.io/mutex.lock: tomorrow is not a time such as "
                          "2026-08-21T09:30:00Z: remove the annotation"});
}

TEST_F(NodeLocksTest, APodThatWasNotBoundGivesItsLockBackAndNoOtherOnes) {
  Take("a");
  ASSERT_TRUE(HasEnded(1));
  locks().Release("n1", {"default", "b"});
  locks().Release("n1", {"default", "a"});
  EXPECT_TRUE(RunUntil([&] { return !Locked(); }));
  EXPECT_EQ(patches().back(), R"(n1 {"metadata":{"resourceVersion":"2",)"
                              R"("annotations":{"hami.io/mutex.lock":null}}})");
}

TEST_F(NodeLocksTest, ANodeThatCannotBeReadFailsThePodThatAsked) {
  failures_ = {kube::Refusal(403, "Forbidden", "no rights")};
  Take("a");
  Take("b");
  ASSERT_TRUE(HasEnded(2));
  EXPECT_TRUE(ended_[0].starts_with("a: ")) << ended_[0];
  EXPECT_NE(ended_[0].find("no rights"), std::string::npos) << ended_[0];
  EXPECT_EQ(ended_[1], "b: taken");
}

}  // namespace
}  // namespace tessera::scheduler
