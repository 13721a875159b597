// SPDX-License-Identifier: Apache-2.0
#include "kube/client.h"

#include <set>

#include "base/log.h"
#include "base/text.h"
#include "kube/fake_cluster_test.h"

namespace tessera::kube {
namespace {

class ClientTest : public ClusterTest {
 protected:
  // At the deadline another attempt may be in flight. The message then says so, and how the last
  // one ended.
  void ExpectUnreachable(const std::string& why) {
    const Error error = Get().error();
    const std::string late =
        "no answer within " + FormatDuration(limits_.deadline) + "; last error: ";
    EXPECT_EQ(error.reason, Reason::kApiUnreachable);
    EXPECT_TRUE(error.message == "get /api/v1/nodes/n1: " + why ||
                error.message == "get /api/v1/nodes/n1: " + late + why)
        << error.message;
  }
  Status Outcome(const std::function<void(Client::Outcome)>& call) {
    std::optional<Status> found;
    call([&](const Status& status) { found = status; });
    if (!RunUntil([&] { return found.has_value(); })) return Fail(Reason::kInternal, "no end");
    return *found;
  }
};

TEST_F(ClientTest, GetsAnObject) {
  AnswerWith({fake::Answer(200, R"({"kind":"Node"})")});

  const auto node = Get();

  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_EQ(json::Write(*node), R"({"kind":"Node"})");
  ASSERT_EQ(Targets(), std::vector<std::string>{"GET /api/v1/nodes/n1"});
  EXPECT_EQ(asked_[0].headers["authorization"], "Bearer secret");
  EXPECT_EQ(asked_[0].headers["accept"], "application/json");
  EXPECT_EQ(observed_, std::vector<std::string>{"get 200"});
}

TEST_F(ClientTest, PatchesAreOfTheirKind) {
  AnswerWith({fake::Answer(200, "{}")});
  const json::Value patch = json::Object{{"metadata", json::Object{{"resourceVersion", "3"}}}};
  for (const PatchType type : {PatchType::kMerge, PatchType::kStrategic}) {
    ASSERT_TRUE(Await<json::Value>([&](auto answer) {
                  client().Patch(type, "/api/v1/nodes/n1/status", patch, Few(), answer);
                }).has_value());
  }

  EXPECT_EQ(Targets(), (std::vector<std::string>{"PATCH /api/v1/nodes/n1/status",
                                                 "PATCH /api/v1/nodes/n1/status"}));
  EXPECT_EQ(asked_[0].headers["content-type"], "application/merge-patch+json");
  EXPECT_EQ(asked_[1].headers["content-type"], "application/strategic-merge-patch+json");
  EXPECT_EQ(asked_[0].body, R"({"metadata":{"resourceVersion":"3"}})");
}

TEST_F(ClientTest, CreatesAndDeletes) {
  AnswerWith({fake::Answer(201, R"({"made":true})"), fake::Answer(200, "{}")});
  const json::Value event = json::Object{{"kind", "Event"}};

  const auto made = Outcome(
      [&](auto outcome) { client().Create("/api/v1/namespaces/default/events", event, outcome); });
  const auto gone = Outcome([&](auto outcome) { client().Delete("/x/y", outcome); });

  ASSERT_TRUE(made.has_value() && gone.has_value());
  EXPECT_EQ(Targets(),
            (std::vector<std::string>{"POST /api/v1/namespaces/default/events", "DELETE /x/y"}));
  EXPECT_EQ(asked_[0].headers["content-type"], "application/json");
  EXPECT_EQ(asked_[0].body, R"({"kind":"Event"})");
}

TEST_F(ClientTest, WhatIsThereAlreadyIsAsGoodAsMade) {
  AnswerWith({Refusal(409, "AlreadyExists", R"(events "e" already exists)")});
  const json::Value event = json::Object{{"kind", "Event"}};

  EXPECT_TRUE(Outcome([&](auto outcome) { client().Create("/events", event, outcome); }));
}

TEST_F(ClientTest, AServersRefusalIsATypedErrorWithItsWords) {
  struct Case {
    int status;
    const char* reason;
    Reason expected;
  };
  for (const Case& c :
       {Case{400, "BadRequest", Reason::kApiRejected}, Case{404, "NotFound", Reason::kNotFound},
        Case{409, "Conflict", Reason::kApiConflict}, Case{410, "Gone", Reason::kApiExpired},
        Case{422, "Invalid", Reason::kApiRejected}}) {
    AnswerWith({Refusal(c.status, c.reason, "its own words")});

    const auto node = Get();

    ASSERT_FALSE(node.has_value());
    EXPECT_EQ(node.error(), (Error{c.expected, fmt::format("get /api/v1/nodes/n1: its own words "
                                                           "({} {})",
                                                           c.status, c.reason)}));
  }
  EXPECT_EQ(asked_.size(), 5U);  // none of them is repeated
}

TEST_F(ClientTest, ARefusalWithoutWordsIsOneByItsStatus) {
  AnswerWith({fake::Answer(405, "<html>")});

  EXPECT_EQ(Get().error(),
            (Error{Reason::kApiRejected,
                   "get /api/v1/nodes/n1: the API server answered with status 405"}));
}

TEST_F(ClientTest, AnAnswerThatIsNoJsonIsNoApiServers) {
  AnswerWith({fake::Answer(200, "<html>")});

  const auto node = Get();

  ASSERT_FALSE(node.has_value());
  EXPECT_EQ(node.error().reason, Reason::kApiUnreachable);
  EXPECT_TRUE(
      node.error().message.starts_with("get /api/v1/nodes/n1: the answer is not an API server's: "))
      << node.error().message;
}

TEST_F(ClientTest, WhatPassesIsTriedAgain) {
  AnswerWith({fake::Answer(503, ""), fake::Answer(408, ""), fake::Answer(200, "{}")});

  ASSERT_TRUE(Get().has_value());
  EXPECT_EQ(observed_, (std::vector<std::string>{"get 503", "get 408", "get 200"}));
}

TEST_F(ClientTest, ABrokenConnectionIsTriedAgain) {
  handler_ = [this](const fake::Asked&, fake::Peer& peer) {
    if (asked_.size() > 1) return peer.Send(fake::Answer(200, "{}"));
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc");
    peer.HangUp();
  };

  ASSERT_TRUE(Get().has_value());
  EXPECT_EQ(observed_, (std::vector<std::string>{"get 0", "get 200"}));
}

TEST_F(ClientTest, WhatNoAttemptChangesIsToldAtOnce) {
  access_.ca.value = "none";

  EXPECT_EQ(Get().error(), (Error{Reason::kApiUnreachable,
                                  "get /api/v1/nodes/n1: " + Where() +
                                      ": the CA's certificate cannot be read: no start line"}));
  EXPECT_EQ(observed_, std::vector<std::string>{"get 0"});
}

TEST_F(ClientTest, TheServerSaysWhenItMayBeAskedAgain) {
  AnswerWith({Refusal(429, "TooManyRequests", "slow down", "Retry-After: 1\r\n"),
              fake::Answer(200, "{}")});
  const Steady begin = SystemClock().Now();

  ASSERT_TRUE(Get().has_value());

  EXPECT_GE(SystemClock().Now() - begin, Duration(1'000));
}

TEST_F(ClientTest, NobodyWaitsForATimeBeyondTheDeadline) {
  AnswerWith({Refusal(429, "TooManyRequests", "slow down", "Retry-After: 60\r\n")});

  EXPECT_EQ(Get().error(),
            (Error{Reason::kApiBusy, "get /api/v1/nodes/n1: slow down (429 TooManyRequests)"}));
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(ClientTest, WhoAsksAgainByHimselfIsToldToWaitAsLongAsTheServerAskedFor) {
  AnswerWith({Refusal(429, "TooManyRequests", "slow down", "Retry-After: 60\r\n")});
  Backoff pauses(Duration(1'000), Duration(1'000));
  ASSERT_FALSE(Get().has_value());

  const Duration pause = client().NextPause(pauses);

  EXPECT_GT(pause, Duration(30'500));  // some time has passed since
  EXPECT_LE(pause, Duration(61'000));
}

TEST_F(ClientTest, PausesOfManyAreNotTheSame) {
  std::set<Duration> seen;
  for (int i = 0; i < 100; ++i) {
    Backoff pauses(Duration(1'000), Duration(15'000));
    seen.insert(client().NextPause(pauses));
  }

  EXPECT_GE(*seen.begin(), Duration(500));
  EXPECT_LE(*seen.rbegin(), Duration(1'000));
  EXPECT_GT(seen.size(), 10U);
}

TEST_F(ClientTest, ACallEndsAtItsDeadlineWhateverTheServerDoes) {
  limits_.deadline = Duration(300);
  const Error expected{Reason::kApiUnreachable, "get /api/v1/nodes/n1: no answer within 300ms"};
  for (const char* answer : {"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"}) {
    AnswerWith({answer});
    client_.reset();

    EXPECT_EQ(Get().error(), expected) << answer;
  }
}

TEST_F(ClientTest, ASlowAttemptIsGivenUpForAnother) {
  limits_.attempt = Duration(1'000);
  handler_ = [this](const fake::Asked&, fake::Peer& peer) {
    if (asked_.size() > 1) peer.Send(fake::Answer(200, "{}"));
  };

  ASSERT_TRUE(Get().has_value());
  EXPECT_EQ(observed_.front(), "get 0");
  EXPECT_EQ(observed_.back(), "get 200");
}

TEST_F(ClientTest, NobodyListensIsSaidWithTheAddress) {
  limits_.deadline = Duration(1'000);
  server_.reset();

  ExpectUnreachable(Where() + ": connection refused");
}

TEST_F(ClientTest, AttemptsAreLimited) {
  limits_ = {.per_second = 0, .burst = 3, .deadline = Duration(2'000)};
  AnswerWith({fake::Answer(200, "{}")});
  std::vector<std::string> ends;
  for (int i = 0; i < 5; ++i) {
    client().Get("/x", Few(), [&](const Result<json::Value>& answer) {
      ends.push_back(answer ? "good" : answer.error().message);
    });
  }

  ASSERT_TRUE(RunUntil([&] { return ends.size() == 5; }));

  EXPECT_EQ(ends, (std::vector<std::string>{"good", "good", "good", "get /x: not sent within 2s",
                                            "get /x: not sent within 2s"}));
  EXPECT_EQ(asked_.size(), 3U);
}

TEST_F(ClientTest, OfAnAnswerOfThreeMegabytesWhatIsWantedIsKept) {
  const std::string text(3'000'000, 'x');
  AnswerWith({fake::Answer(200, json::Write(json::Object{{"text", text}, {"kind", "Pod"}}))});

  const auto object = Get();

  ASSERT_TRUE(object.has_value()) << object.error().message;
  EXPECT_EQ(json::Write(*object), R"({"text":3000000,"kind":"Pod"})");
}

TEST_F(ClientTest, ARefusalOfThreeMegabytesIsOneByItsStatus) {
  AnswerWith({Refusal(401, "Unauthorized", std::string(3'000'000, 'x'))});

  EXPECT_EQ(Get().error(),
            (Error{Reason::kApiForbidden,
                   "get /api/v1/nodes/n1: the API server answered with status 401"}));
}

TEST_F(ClientTest, WhoLacksARightIsToldWhichRuleGivesIt) {
  AnswerWith({Refusal(403, "Forbidden", "no right")});

  EXPECT_EQ(Get().error(),
            (Error{Reason::kApiForbidden,
                   "get /api/v1/nodes/n1: no right (403 Forbidden); the role lacks the rule "
                   R"({apiGroups: [""], resources: ["nodes"], verbs: ["get"]})"}));
}

TEST_F(ClientTest, AnAccessThatOthersCanReadIsWarnedOf) {
  std::vector<std::string> logged;
  log::SetSink([&](std::string_view line) { logged.emplace_back(line); });
  access_.verify = false;

  client();

  log::SetSink(nullptr);
  ASSERT_EQ(logged.size(), 1U);
  EXPECT_NE(logged[0].find("WARN the kubeconfig sets insecure-skip-tls-verify: an attacker on the "
                           "network can impersonate the API server and read the token; set "
                           "certificate-authority instead host=127.0.0.1"),
            std::string::npos)
      << logged[0];
}

TEST_F(ClientTest, ATokenThatChangesOnDiskIsReadAgain) {
  access_.token = {.value = "old", .file = directory_ + "/token"};
  (void)os::ReplaceFile(access_.token.file, "first\n");
  AnswerWith({fake::Answer(200, "{}")});
  ASSERT_TRUE(Get().has_value());

  (void)os::ReplaceFile(access_.token.file, "second\n");
  ASSERT_TRUE(Get().has_value());
  (void)os::RemoveFile(access_.token.file);
  ASSERT_TRUE(Get().has_value());

  std::vector<std::string> tokens;
  for (fake::Asked& one : asked_) tokens.push_back(one.headers["authorization"]);
  EXPECT_EQ(tokens, (std::vector<std::string>{"Bearer first", "Bearer second", "Bearer second"}));
}

TEST_F(ClientTest, WhoIsRefusedAsUnknownAsksOnceMoreWithTheTokenOfThatMoment) {
  access_.token = {.value = "old", .file = directory_ + "/token"};
  (void)os::ReplaceFile(access_.token.file, "old");
  handler_ = [this](const fake::Asked& asked, fake::Peer& peer) {
    const bool known = asked.headers.at("authorization") == "Bearer new";
    (void)os::ReplaceFile(access_.token.file, "new");
    peer.Send(known ? fake::Answer(200, "{}") : Refusal(401, "Unauthorized", "Unauthorized"));
  };

  ASSERT_TRUE(Get().has_value());
  EXPECT_EQ(observed_, (std::vector<std::string>{"get 401", "get 200"}));
}

TEST_F(ClientTest, WhoStaysUnknownIsForbidden) {
  AnswerWith({Refusal(401, "Unauthorized", "Unauthorized")});

  EXPECT_EQ(Get().error(), (Error{Reason::kApiForbidden,
                                  "get /api/v1/nodes/n1: Unauthorized (401 Unauthorized)"}));
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(ClientTest, AnAuthorityThatIsReplacedOnDiskCountsFromThereOn) {
  limits_.deadline = Duration(2'000);
  access_.ca = {.value = "", .file = directory_ + "/ca.crt"};
  (void)os::ReplaceFile(access_.ca.file, fake::MakeAuthority("former").certificate);
  AnswerWith({fake::Answer(200, "{}")});
  ExpectUnreachable(Where() +
                    ": its certificate is refused: unable to get local issuer certificate");

  (void)os::ReplaceFile(access_.ca.file, authority_.certificate);

  EXPECT_TRUE(Get().has_value());
}

TEST_F(ClientTest, PathsStandBehindTheServersOwn) {
  access_.path_prefix = "/k8s/clusters/c-1";
  AnswerWith({fake::Answer(200, "{}")});

  ASSERT_TRUE(Get().has_value());

  EXPECT_EQ(Targets(), std::vector<std::string>{"GET /k8s/clusters/c-1/api/v1/nodes/n1"});
}

TEST_F(ClientTest, ItMayEndWithCallsUnderWay) {
  for (int i = 0; i < 3; ++i) client().Get("/x", Few(), [](const Result<json::Value>&) { FAIL(); });
  ASSERT_TRUE(RunUntil([&] { return asked_.size() == 3; }));

  client_.reset();

  for (int i = 0; i < 50; ++i) loop_.RunOnce();
}

TEST_F(ClientTest, AnAnswerMayEndIt) {
  AnswerWith({fake::Answer(200, "{}")});
  int answers = 0;
  for (int i = 0; i < 3; ++i) {
    client().Get("/x", Few(), [&](const Result<json::Value>&) {
      ++answers;
      client_.reset();
    });
  }

  ASSERT_TRUE(RunUntil([&] { return answers > 0; }));
  for (int i = 0; i < 50; ++i) loop_.RunOnce();
  EXPECT_EQ(answers, 1);
}

}  // namespace
}  // namespace tessera::kube
