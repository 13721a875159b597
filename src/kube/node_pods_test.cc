// SPDX-License-Identifier: Apache-2.0
#include "kube/node_pods.h"

#include "kube/node_pods_under_test.h"

namespace tessera::kube {
namespace {

TEST_F(NodePodsTest, AreListedInPagesThenFollowed) {
  lists_ = {PageOf("10", {{"a", "u1", "1"}}, "more"), PageOf("10", {{"b", "u2", "2"}})};
  Start();
  EXPECT_FALSE(pods_->Synced());
  ASSERT_TRUE(RunUntilStreams(1));
  EXPECT_TRUE(pods_->Synced());

  stream_->Send(PodEvent("ADDED", {"c", "u3", "11"}) +
                PodEvent("MODIFIED", {.name = "a", .uid = "u1", .version = "12", .mode = "mps"}) +
                PodEvent("DELETED", {"b", "u2", "13"}));
  ASSERT_TRUE(RunUntilTold(5));

  EXPECT_EQ(told_,
            (Words{"added a u1", "added b u2", "added c u3", "changed a u1 mps", "removed b u2"}));
  ASSERT_NE(pods_->Find("u1"), nullptr);
  EXPECT_EQ(pods_->Find("u1")->resource_version, "12");
  EXPECT_EQ(pods_->Find("u2"), nullptr);
  EXPECT_EQ(pods_->pods().size(), 2U);
  EXPECT_EQ(asked_[0].target,
            "/api/v1/pods?fieldSelector=spec.nodeName%3Dn%2F1%2Cstatus.phase%21%3DFailed%2C"
            "status.phase%21%3DSucceeded&limit=100");
  EXPECT_EQ(asked_[1].target,
            "/api/v1/pods?fieldSelector=spec.nodeName%3Dn%2F1%2Cstatus.phase%21%3DFailed%2C"
            "status.phase%21%3DSucceeded&limit=100&continue=more");
  EXPECT_EQ(logged_, Words());
}

// The watch only reports that the pod is gone.
TEST_F(NodePodsTest, OfOneThatIsGoneItIsAskedWhetherItHasEnded) {
  tells_ends_ = true;
  ASSERT_TRUE(Begin());
  const auto watches = handler_;
  handler_ = [&](const fake::Asked& asked, fake::Peer& peer) {
    if (asked.target == "/api/v1/namespaces/d/pods/b") {
      return peer.Send(Refusal(404, "NotFound", "deleted"));
    }
    json::Value pod = PodObject({.name = "a", .uid = "u1", .version = "12"});
    pod.as_object()["status"] = json::Object{{"phase", "Succeeded"}};
    if (asked.target == "/api/v1/namespaces/d/pods/a") {
      return peer.Send(fake::Answer(200, json::Write(pod)));
    }
    watches(asked, peer);
  };

  stream_->Send(PodEvent("DELETED", {"b", "u2", "13"}) + PodEvent("DELETED", {"a", "u1", "14"}));

  ASSERT_TRUE(RunUntilTold(5));
  EXPECT_EQ(told_,
            (Words{"added a u1", "added b u2", "removed b u2", "removed a u1", "ended a u1"}));
}

TEST_F(NodePodsTest, ABookmarkIsNoPodAndTheStreamGoesOnFromThere) {
  ASSERT_TRUE(Begin());

  stream_->Send(fake::Chunk("{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":"
                            "{\"resourceVersion\":\"40\"}}}\n") +
                fake::kLastChunk);

  ASSERT_TRUE(RunUntilStreams(2));
  EXPECT_NE(asked_.back().target.find("resourceVersion=40&"), std::string::npos);
  EXPECT_EQ(told_, (Words{"added a u1", "added b u2"}));
  EXPECT_EQ(logged_, Words());
}

TEST_F(NodePodsTest, WhatChangedUntilAnotherListIsTold) {
  lists_.push_back(PageOf(
      "50", {{.name = "b", .uid = "u2", .version = "30", .mode = "mps"}, {"c", "u3", "31"}}));
  ASSERT_TRUE(Begin());

  stream_->Send(
      fake::Chunk("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
                  "\"reason\":\"Expired\",\"message\":\"too old\"}}\n"));

  ASSERT_TRUE(RunUntilStreams(2));
  EXPECT_EQ(told_,
            (Words{"added a u1", "added b u2", "removed a u1", "changed b u2 mps", "added c u3"}));
}

TEST_F(NodePodsTest, TheyStayWhileTheServerIsAwayAndAreFollowedOnceItIsBack) {
  ASSERT_TRUE(Begin());

  server_->HangUp();
  ASSERT_TRUE(RunUntil([&] { return !logged_.empty(); }));
  EXPECT_EQ(pods_->pods().size(), 2U);

  ASSERT_TRUE(RunUntilStreams(2));
  stream_->Send(PodEvent("DELETED", {"a", "u1", "11"}));
  ASSERT_TRUE(RunUntilTold(3));
  EXPECT_EQ(told_.back(), "removed a u1");
  EXPECT_EQ(listed_, 1U);
}

TEST_F(NodePodsTest, APodOfTheSameNameIsAnother) {
  ASSERT_TRUE(Begin());

  stream_->Send(PodEvent("DELETED", {"a", "u1", "11"}) + PodEvent("ADDED", {"a", "u9", "12"}));

  ASSERT_TRUE(RunUntilTold(4));
  EXPECT_EQ(told_, (Words{"added a u1", "added b u2", "removed a u1", "added a u9"}));
  EXPECT_EQ(pods_->Find("u1"), nullptr);
}

TEST_F(NodePodsTest, AlsoWhereOnlyAnotherListShowsIt) {
  lists_ = {PageOf("10", {{.name = "s-n1", .uid = "u1", .version = "1", .mirrors = "hash"}}),
            PageOf("50", {{.name = "s-n1", .uid = "u2", .version = "30", .mirrors = "hash"}})};
  ASSERT_TRUE(Begin());

  Ask("u7", Duration(0));

  ASSERT_TRUE(RunUntilAnswers(1));
  EXPECT_EQ(told_, (Words{"added s-n1 hash", "removed s-n1 hash", "added s-n1 hash"}));
  EXPECT_EQ(pods_->Find("hash")->uid, "u2");
}

TEST_F(NodePodsTest, NobodyTakesThePlaceOfAPodByClaimingItsUid) {
  ASSERT_TRUE(Begin());
  const Made claim{.name = "evil", .uid = "u8", .version = "11", .mirrors = "u1"};

  stream_->Send(PodEvent("ADDED", claim) + PodEvent("MODIFIED", claim) +
                PodEvent("DELETED", claim) + PodEvent("ADDED", {"c", "u3", "12"}));

  ASSERT_TRUE(RunUntilTold(3));
  EXPECT_EQ(told_.back(), "added c u3");
  ASSERT_NE(pods_->Find("u1"), nullptr);
  EXPECT_EQ(pods_->Find("u1")->name, "a");
  ASSERT_EQ(logged_.size(), 1U);
  EXPECT_NE(logged_[0].find("pod d/evil claims to mirror u1, which is d/a"), std::string::npos)
      << logged_[0];
}

TEST_F(NodePodsTest, ThePodItselfTakesItsPlaceFromWhoClaimedIt) {
  lists_ = {PageOf(
      "10", {{.name = "evil", .uid = "u8", .version = "1", .mirrors = "u1"}, {"good", "u1", "2"}})};
  ASSERT_TRUE(Begin());
  EXPECT_EQ(pods_->Find("u1")->name, "good");

  stream_->Send(
      PodEvent("ADDED", {.name = "evil2", .uid = "u7", .version = "11", .mirrors = "u3"}) +
      PodEvent("ADDED", {"c", "u3", "12"}));

  ASSERT_TRUE(RunUntilTold(4));
  EXPECT_EQ(told_, (Words{"added good u1", "added evil2 u3", "removed evil2 u3", "added c u3"}));
}

TEST_F(NodePodsTest, NobodyStandsInForAPodThatHasNotComeYet) {
  ASSERT_TRUE(Begin());
  const std::string uid = "5b0e1c9a-4c7e-4a51-9d0a-0f4f2d6f7a11";

  stream_->Send(PodEvent("ADDED", {.name = "evil", .uid = "u8", .version = "11", .mirrors = uid}) +
                PodEvent("ADDED", {"c", "u3", "12"}));

  ASSERT_TRUE(RunUntilTold(3));
  EXPECT_EQ(told_.back(), "added c u3");
  EXPECT_EQ(pods_->Find(uid), nullptr);
  ASSERT_EQ(logged_.size(), 1U);
  EXPECT_NE(logged_[0].find("pod d/evil claims to mirror " + uid + ", which is not a static pod"),
            std::string::npos)
      << logged_[0];
}

TEST_F(NodePodsTest, ABrokenPodCostsItselfOnlyAndOneLine) {
  const Made broken{.name = "x", .uid = "u8", .version = "3", .broken = true};
  lists_ = {PageOf("10", {broken, {"a", "u1", "1"}})};
  ASSERT_TRUE(Begin());

  stream_->Send(PodEvent("MODIFIED", broken) + PodEvent("ADDED", {"c", "u3", "12"}));
  ASSERT_TRUE(RunUntilTold(2));

  EXPECT_EQ(told_, (Words{"added a u1", "added c u3"}));
  ASSERT_EQ(logged_.size(), 1U);
  EXPECT_NE(logged_[0].find("pod d/x: spec: it has no containers"), std::string::npos)
      << logged_[0];
}

TEST_F(NodePodsTest, APodThatBreaksStaysAsItWasUntilItIsGone) {
  Made broken{.name = "a", .uid = "u1", .version = "11", .broken = true};
  lists_.push_back(PageOf("50", {broken}));
  ASSERT_TRUE(Begin());
  stream_->Send(PodEvent("MODIFIED", broken));
  ASSERT_TRUE(RunUntil([&] { return !logged_.empty(); }));
  EXPECT_EQ(pods_->Find("u1")->resource_version, "1");

  Ask("u7", Duration(0));
  ASSERT_TRUE(RunUntilAnswers(1));
  ASSERT_TRUE(RunUntilStreams(2));
  EXPECT_EQ(pods_->Find("u1")->resource_version, "1");

  stream_->Send(PodEvent("DELETED", broken));
  ASSERT_TRUE(RunUntilTold(4));
  EXPECT_EQ(told_, (Words{"added a u1", "added b u2", "removed b u2", "removed a u1"}));
  EXPECT_EQ(logged_.size(), 1U);
}

TEST_F(NodePodsTest, WhoAsksForAKnownPodIsAnsweredAtOnce) {
  ASSERT_TRUE(Begin());

  Ask("u2", Duration(0));

  EXPECT_EQ(answers_, Words{"u2: b"});
}

TEST_F(NodePodsTest, WhoWaitsIsAnsweredWhenThePodComes) {
  ASSERT_TRUE(Begin());
  Ask("u3", kPatience);
  Ask("u4", kPatience);

  stream_->Send(PodEvent("ADDED", {"c", "u3", "11"}));

  ASSERT_TRUE(RunUntilAnswers(1));
  EXPECT_EQ(answers_, Words{"u3: c"});
  EXPECT_EQ(listed_, 1U);
}

TEST_F(NodePodsTest, WhoWaitsForTheFirstListIsAnsweredByIt) {
  Start();
  Ask("u2", Duration(0));

  ASSERT_TRUE(RunUntilAnswers(1));
  EXPECT_EQ(answers_, Words{"u2: b"});
  EXPECT_EQ(listed_, 1U);
}

TEST_F(NodePodsTest, WhoIsAnsweredByAListIsAnsweredWhenAllOfItWasTold) {
  Start();
  size_t told = 0;
  pods_->Await("u1", SystemClock().Now(), [&](const Result<PodPtr>&) {
    told = told_.size();
    answers_.emplace_back("u1");
  });

  ASSERT_TRUE(RunUntilAnswers(1));
  EXPECT_EQ(told, 2U);
}

TEST_F(NodePodsTest, APodThatTheWatchDoesNotBringIsFoundByAList) {
  lists_.push_back(PageOf("50", {{"a", "u1", "1"}, {"b", "u2", "2"}, {"c", "u3", "11"}}));
  ASSERT_TRUE(Begin());

  Ask("u3", Duration(50));

  ASSERT_TRUE(RunUntilAnswers(1));
  EXPECT_EQ(answers_, Words{"u3: c"});
  EXPECT_EQ(told_, (Words{"added a u1", "added b u2", "added c u3"}));
  EXPECT_NE(pods_->Find("u3"), nullptr);
  ASSERT_TRUE(RunUntilStreams(2));
  EXPECT_NE(asked_.back().target.find("resourceVersion=50&"), std::string::npos);
}

TEST_F(NodePodsTest, APodOfTheNameButOfAnotherUidIsNoAnswer) {
  lists_.push_back(PageOf("50", {{"c", "u4", "11"}}));
  ASSERT_TRUE(Begin());

  Ask("u3", Duration(0));

  ASSERT_TRUE(RunUntilAnswers(1));
  EXPECT_EQ(answers_, Words{"u3: no such pod on node n/1"});
  EXPECT_EQ(reason_, Reason::kNotFound);
}

TEST_F(NodePodsTest, AHundredWhoWaitCostOneList) {
  ASSERT_TRUE(Begin());
  const Steady deadline = SystemClock().Now() + Duration(100);
  for (int i = 0; i < 100; ++i) AskUntil("none", deadline);

  ASSERT_TRUE(RunUntilAnswers(100));
  EXPECT_EQ(answers_, Words(100, "none: no such pod on node n/1"));
  EXPECT_EQ(listed_, 2U);
}

TEST_F(NodePodsTest, WhoComesWhileTheListIsReadIsServedByTheNextOne) {
  lists_.push_back("");  // answered below
  lists_.push_back(PageOf("60", {{"d", "late", "12"}}));
  ASSERT_TRUE(Begin());
  fake::Peer* listing = nullptr;
  handler_ = [&, usual = handler_](const fake::Asked& asked, fake::Peer& peer) {
    if (asked.target.find("limit=") != std::string::npos) listing = &peer;
    usual(asked, peer);
  };
  Ask("early", Duration(0));
  ASSERT_TRUE(RunUntil([&] { return listed_ == 2; }));
  Ask("late", Duration(0));

  listing->Send(PageOf("50", {}));

  ASSERT_TRUE(RunUntilAnswers(2));
  EXPECT_EQ(answers_, (Words{"early: no such pod on node n/1", "late: d"}));
  EXPECT_EQ(listed_, 3U);
}

TEST_F(NodePodsTest, ListsForThoseWhoWaitAreApart) {
  times_.between = Duration(300);
  ASSERT_TRUE(Begin());
  const Steady begin = SystemClock().Now();
  Ask("one", Duration(0));
  ASSERT_TRUE(RunUntilAnswers(1));
  Ask("two", Duration(0));

  ASSERT_TRUE(RunUntilAnswers(2));
  EXPECT_GE(SystemClock().Now() - begin, Duration(300));
  EXPECT_EQ(listed_, 3U);
}

TEST_F(NodePodsTest, WhereTheListIsRefusedItsErrorIsTheAnswerAndTheStreamGoesOn) {
  lists_.push_back(Refusal(403, "Forbidden", "no right"));
  ASSERT_TRUE(Begin());
  Ask("u3", Duration(0));
  ASSERT_TRUE(RunUntilAnswers(1));

  EXPECT_EQ(answers_,
            (Words{"u3: list /api/v1/pods: no right (403 Forbidden); the role lacks the rule "
                   R"({apiGroups: [""], resources: ["pods"], verbs: ["list"]})"}));
  EXPECT_EQ(reason_, Reason::kApiForbidden);
  stream_->Send(PodEvent("ADDED", {"c", "u3", "11"}));
  ASSERT_TRUE(RunUntilTold(3));
  EXPECT_EQ(streams_, 1);
}

TEST_F(NodePodsTest, WhereTheFirstListHangsNobodyWaitsForIt) {
  times_.list = Duration(50);
  lists_ = {""};
  Start();

  Ask("u3", Duration(10));

  ASSERT_TRUE(RunUntilAnswers(1));
  EXPECT_EQ(answers_, Words{"u3: the pods of node n/1 were not listed within 100ms"});
  EXPECT_EQ(reason_, Reason::kApiUnreachable);
}

TEST_F(NodePodsTest, AnAnswerMayAskAgain) {
  ASSERT_TRUE(Begin());
  pods_->Await("none", SystemClock().Now(), [this](const Result<PodPtr>&) {
    Ask("none", Duration(0));
    Ask("u1", Duration(0));
  });

  ASSERT_TRUE(RunUntilAnswers(2));
  EXPECT_EQ(answers_, (Words{"u1: a", "none: no such pod on node n/1"}));
  EXPECT_EQ(listed_, 3U);
}

TEST_F(NodePodsTest, WhoStillWaitsAtTheEndIsNotAnswered) {
  ASSERT_TRUE(Begin());
  Ask("u3", Duration(0));

  pods_.reset();

  for (int i = 0; i < 50; ++i) loop_.RunOnce();
  EXPECT_EQ(answers_, Words());
}

}  // namespace
}  // namespace tessera::kube
