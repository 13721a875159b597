// SPDX-License-Identifier: Apache-2.0
#include "kube/event_queue.h"

#include <set>

#include "kube/fake_cluster_test.h"

namespace tessera::kube {
namespace {

constexpr Wall kSentWhen{Duration(1'795'197'600'000)};

Event About(const std::string& message) {
  return {.about = NodeReference("n1"),
          .warning = true,
          .reason = "DeviceUnhealthy",
          .message = message,
          .when = kSentWhen,
          .subject = message};
}

Event AboutPod(const std::string& uid) {
  Event event = About("a");
  event.about = {.kind = "Pod", .pod_namespace = "team-a", .name = "trainer", .uid = uid};
  return event;
}

class EventQueueTest : public ClusterTest {
 protected:
  EventQueue& event_queue() {
    if (!event_queue_) {
      event_queue_ = std::make_unique<EventQueue>(
          loop_, client(), "n1", [this](std::string_view result) { results_.emplace_back(result); },
          Backoff(Duration(1), Duration(1)));
    }
    return *event_queue_;
  }
  // The messages of the created events, in the order of the requests.
  std::vector<std::string> Messages() const {
    std::vector<std::string> messages;
    for (const fake::Asked& asked : asked_) {
      if (asked.method != "POST") continue;
      const json::Value object = json::Parse(asked.body).value();
      messages.push_back(json::GetString(object.as_object(), "message").value());
    }
    return messages;
  }
  bool RunUntilResults(size_t count) {
    return RunUntil([&] { return results_.size() >= count; });
  }

  std::vector<std::string> results_;
  std::unique_ptr<EventQueue> event_queue_;
};

using Words = std::vector<std::string>;

TEST_F(EventQueueTest, EventsArriveInTheirOrder) {
  AnswerWith({fake::Answer(201, "{}")});

  event_queue().Add({About("a"), About("b")});
  event_queue().Add({About("c")});

  ASSERT_TRUE(RunUntilResults(3));
  EXPECT_EQ(Messages(), (Words{"a", "b", "c"}));
  EXPECT_EQ(results_, (Words{"sent", "sent", "sent"}));
  EXPECT_EQ(Targets()[0], "POST /api/v1/namespaces/default/events");
}

TEST_F(EventQueueTest, OneThatCannotBeTakenNowHoldsUpTheOthersAndIsToldAgain) {
  limits_.deadline = Duration(100);  // below the client's own pauses
  const std::string busy = Refusal(503, "ServiceUnavailable", "starting");
  AnswerWith({busy, busy, fake::Answer(201, "{}")});

  event_queue().Add({About("a"), About("b")});

  ASSERT_TRUE(RunUntilResults(2));
  EXPECT_EQ(results_, (Words{"sent", "sent"}));
  EXPECT_EQ(Messages().back(), "b");
}

TEST_F(EventQueueTest, ItWaitsForTheTimeTheServerNamedThoughThatIsBeyondACallsDeadline) {
  limits_.deadline = Duration(900);
  AnswerWith({Refusal(429, "TooManyRequests", "slow down", "Retry-After: 1\r\n"),
              fake::Answer(201, "{}")});
  const Steady begin = SystemClock().Now();

  event_queue().Add({About("a")});

  ASSERT_TRUE(RunUntilResults(1));
  EXPECT_GE(SystemClock().Now() - begin, Duration(1'000));
  EXPECT_EQ(Messages(), (Words{"a", "a"}));
}

TEST_F(EventQueueTest, WhileTheServerComesAndGoesEachEventIsMadeOnceAndInOrder) {
  limits_.deadline = Duration(400);
  bool up = true;
  std::set<std::string> names;
  Words made;
  handler_ = [&](const fake::Asked& asked, fake::Peer& peer) {
    // While the server goes down it processes half of the requests, and their answers are lost.
    if (!up && asked_.size() % 2 == 0) return peer.HangUp();
    const json::Value event = json::Parse(asked.body).value();
    const json::Object& metadata = *json::GetObject(event.as_object(), "metadata");
    const bool fresh = names.insert(json::GetString(metadata, "name").value()).second;
    if (fresh) made.push_back(json::GetString(event.as_object(), "message").value());
    if (!up) return peer.HangUp();
    peer.Send(fresh ? fake::Answer(201, asked.body)
                    : Refusal(409, "AlreadyExists", "the event is there already"));
  };
  int turns = 0;
  Words told;
  os::Loop::Handle flapping = loop_.Every(Duration(200), [&] {
    up = !up;
    if (!up) server_->HangUp();
    for (const char* letter : {"a", "b", "c"}) {
      told.push_back(fmt::format("{}{}", letter, turns));
      event_queue().Add({About(told.back())});
    }
    if (++turns == 24) flapping = os::Loop::Handle();
  });

  ASSERT_TRUE(RunUntil([&] { return turns == 24 && results_.size() == told.size(); }));
  EXPECT_EQ(made, told);
  EXPECT_EQ(results_, Words(told.size(), "sent"));
  EXPECT_GT(asked_.size(), told.size()) << "nothing was lost: the test shows nothing";
}

TEST_F(EventQueueTest, OneThatIsRefusedCostsNoOther) {
  AnswerWith({Refusal(422, "Invalid", "no such kind"), fake::Answer(201, "{}")});

  event_queue().Add({About("a"), About("b")});

  ASSERT_TRUE(RunUntilResults(2));
  EXPECT_EQ(results_, (Words{"refused", "sent"}));
  EXPECT_EQ(Messages(), (Words{"a", "b"}));
}

TEST_F(EventQueueTest, WhatIsForbiddenIsTriedAFewTimes) {
  AnswerWith({Refusal(403, "Forbidden", "no right")});

  event_queue().Add({About("a"), About("b")});

  ASSERT_TRUE(RunUntilResults(2));
  EXPECT_EQ(results_, (Words{"refused", "refused"}));
  EXPECT_EQ(Messages(), (Words{"a", "a", "a", "a", "a", "b", "b", "b", "b", "b"}));
}

TEST_F(EventQueueTest, TheUidOfAPodIsAskedForWhereItIsNotKnown) {
  AnswerWith({fake::Answer(200, R"({"metadata":{"uid":"u7"},"spec":{"nodeName":"n1"}})"),
              fake::Answer(201, "{}")});

  event_queue().Add({AboutPod("")});

  ASSERT_TRUE(RunUntilResults(1));
  EXPECT_EQ(Targets(), (Words{"GET /api/v1/namespaces/team-a/pods/trainer",
                              "POST /api/v1/namespaces/team-a/events"}));
  EXPECT_NE(asked_[1].body.find(R"("uid":"u7")"), std::string::npos) << asked_[1].body;
}

TEST_F(EventQueueTest, AKnownUidIsNotAskedFor) {
  AnswerWith({fake::Answer(201, "{}")});

  event_queue().Add({AboutPod("u7")});

  ASSERT_TRUE(RunUntilResults(1));
  EXPECT_EQ(Targets(), Words{"POST /api/v1/namespaces/team-a/events"});
}

TEST_F(EventQueueTest, APodThatIsGoneOrRunsElsewhereHasNoEvent) {
  AnswerWith({Refusal(404, "NotFound", "pods \"trainer\" not found"),
              fake::Answer(200, R"({"metadata":{"uid":"u8"},"spec":{"nodeName":"n2"}})")});

  event_queue().Add({AboutPod(""), AboutPod("")});

  ASSERT_TRUE(RunUntilResults(2));
  EXPECT_EQ(results_, (Words{"refused", "refused"}));
  EXPECT_EQ(Messages(), Words{});
}

TEST_F(EventQueueTest, BeyondTheLimitTheOldestAreDroppedButNotTheOneUnderWay) {
  bool open = false;
  handler_ = [&](const fake::Asked&, fake::Peer& peer) {
    if (open) peer.Send(fake::Answer(201, "{}"));
  };
  limits_.attempt = Duration(500);
  event_queue().Add({About("first")});
  ASSERT_TRUE(RunUntil([&] { return !asked_.empty(); }));

  std::vector<Event> many;
  for (size_t n = 0; n < EventQueue::kLimit + 1; ++n) many.push_back(About(std::to_string(n)));
  event_queue().Add(std::move(many));
  EXPECT_EQ(results_, (Words{"dropped", "dropped"}));

  open = true;
  results_.clear();
  ASSERT_TRUE(RunUntilResults(3));
  const Words messages = Messages();
  EXPECT_EQ(messages.front(), "first");
  EXPECT_EQ(std::count(messages.begin(), messages.end(), "0"), 0);
  EXPECT_EQ(std::count(messages.begin(), messages.end(), "1"), 0);
  EXPECT_GE(std::count(messages.begin(), messages.end(), "2"), 1);
}

}  // namespace
}  // namespace tessera::kube
