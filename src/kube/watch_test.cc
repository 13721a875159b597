// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"
#include "kube/client.h"
#include "kube/fake_cluster_test.h"

namespace tessera::kube {
namespace {

std::string Object(const std::string& name, const std::string& version) {
  return json::Write(
      json::Object{{"metadata", json::Object{{"name", name}, {"resourceVersion", version}}}});
}

std::string ListOf(const std::string& version, const std::vector<std::string>& names) {
  std::string items;
  for (const std::string& name : names) {
    items += (items.empty() ? "" : ",") + Object(name, version);
  }
  return fake::Answer(200, fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}},"items":[{}]}})",
                                       version, items));
}

std::string PageOf(const std::string& version, const std::string& next,
                   const std::vector<std::string>& names) {
  std::string items;
  for (const std::string& name : names) {
    items += (items.empty() ? "" : ",") + Object(name, version);
  }
  return fake::Answer(
      200, fmt::format(R"({{"items":[{}],"metadata":{{"resourceVersion":"{}","continue":"{}"}}}})",
                       items, version, next));
}

std::string Event(const std::string& type, const std::string& object) {
  return fake::Chunk(fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object));
}

std::string ErrorEvent(int code, const std::string& reason, int retry_after = 0) {
  json::Object status{
      {"kind", "Status"}, {"message", "its own words"}, {"reason", reason}, {"code", code}};
  if (retry_after > 0) status["details"] = json::Object{{"retryAfterSeconds", retry_after}};
  return Event("ERROR", json::Write(status));
}

std::string NameOf(const json::Value& object) {
  return json::GetString(*json::GetObject(object.as_object(), "metadata"), "name").value();
}

class WatchTest : public ClusterTest {
 protected:
  WatchTest() {
    log::SetSink([this](std::string_view line) { logged_ += fmt::format("{}\n", line); });
    handler_ = [this](const fake::Asked& asked, fake::Peer& peer) {
      const bool watches = asked.target.find("watch=1") != std::string::npos;
      if (watches) {
        stream_ = &peer;
        ++streams_;
        peer.Send(watches_ < watch_answers_.size() ? watch_answers_[watches_++]
                                                   : fake::ChunkedHead());
      } else {
        peer.Send(lists_[std::min(listed_++, lists_.size() - 1)]);
      }
    };
  }
  ~WatchTest() override { log::SetSink(nullptr); }

  void Start() {
    watch_ = std::make_unique<Watch>(
        loop_, client(), "/api/v1/pods", "fieldSelector=x", Few(),
        Watch::Listener{.changed = [this](const json::Value& o) { Told("changed " + NameOf(o)); },
                        .deleted = [this](const json::Value& o) { Told("deleted " + NameOf(o)); },
                        .begun = [this] { listed_now_ = "listed"; },
                        .item = [this](const json::Value& o) { listed_now_ += " " + NameOf(o); },
                        .listed = [this] { Told(listed_now_); },
                        .failed = [this](const Error& error) { Told("failed " + error.message); }});
  }
  void Told(const std::string& what) {
    told_.push_back(what);
    if (what == end_at_) watch_.reset();
  }
  bool RunUntilTold(size_t count) {
    return RunUntil([&] { return told_.size() >= count; });
  }
  bool RunUntilStreams(int count) {
    return RunUntil([&] { return streams_ >= count; });
  }
  // The versions from which the streams were requested.
  std::vector<std::string> Versions() const {
    std::vector<std::string> versions;
    for (const fake::Asked& one : asked_) {
      const size_t at = one.target.find("resourceVersion=");
      if (at == std::string::npos) continue;
      versions.push_back(one.target.substr(at + 16, one.target.find('&', at) - at - 16));
    }
    return versions;
  }

  std::vector<std::string> lists_ = {ListOf("10", {"a", "b"})};
  size_t listed_ = 0;
  std::vector<std::string> watch_answers_;  // to the first streams, whole or their beginning
  size_t watches_ = 0;
  fake::Peer* stream_ = nullptr;
  int streams_ = 0;
  std::vector<std::string> told_;
  std::string end_at_;
  std::string listed_now_;
  std::string logged_;
  std::unique_ptr<Watch> watch_;
};

TEST_F(WatchTest, ListsThenTellsWhatChanges) {
  Start();
  ASSERT_TRUE(RunUntilStreams(1));

  stream_->Send(Event("ADDED", Object("c", "11")) + Event("MODIFIED", Object("a", "12")));
  stream_->Send(Event("DELETED", Object("b", "13")));
  ASSERT_TRUE(RunUntilTold(4));

  EXPECT_EQ(told_, (std::vector<std::string>{"listed a b", "changed c", "changed a", "deleted b"}));
  EXPECT_EQ(asked_[0].target, "/api/v1/pods?fieldSelector=x&limit=100");
  const std::string begin =
      "/api/v1/pods?fieldSelector=x&watch=1&allowWatchBookmarks=true&resourceVersion=10"
      "&timeoutSeconds=";
  EXPECT_EQ(asked_[1].target.substr(0, begin.size()), begin);
  const int seconds = std::stoi(asked_[1].target.substr(begin.size()));
  EXPECT_TRUE(150 <= seconds && seconds <= 300) << seconds;
}

TEST_F(WatchTest, AnEventMayComeInPieces) {
  Start();
  ASSERT_TRUE(RunUntilStreams(1));
  const std::string line = fmt::format(R"({{"type":"ADDED","object":{}}})", Object("c", "11"));

  for (char c : line + "\n") stream_->Send(fake::Chunk(std::string(1, c)));

  ASSERT_TRUE(RunUntilTold(2));
  EXPECT_EQ(told_[1], "changed c");
}

TEST_F(WatchTest, AStreamThatEndedIsTakenUpFromTheLastVersionSeen) {
  Start();
  ASSERT_TRUE(RunUntilStreams(1));
  stream_->Send(Event("ADDED", Object("c", "11")) + fake::kLastChunk);
  ASSERT_TRUE(RunUntilStreams(2));
  stream_->Send(Event("BOOKMARK", Object("", "40")) + fake::kLastChunk);
  ASSERT_TRUE(RunUntilStreams(3));

  EXPECT_EQ(Versions(), (std::vector<std::string>{"10", "11", "40"}));
  EXPECT_EQ(told_, (std::vector<std::string>{"listed a b", "changed c"}));
  EXPECT_EQ(logged_, "");
}

TEST_F(WatchTest, AServerThatGoesAwayInTheMiddleIsAskedAgainFromThere) {
  Start();
  ASSERT_TRUE(RunUntilStreams(1));
  stream_->Send(Event("ADDED", Object("c", "11")));
  ASSERT_TRUE(RunUntilTold(2));

  server_->HangUp();

  ASSERT_TRUE(RunUntilStreams(2));
  EXPECT_EQ(Versions(), (std::vector<std::string>{"10", "11"}));
  stream_->Send(Event("DELETED", Object("c", "12")));
  ASSERT_TRUE(RunUntilTold(3));
  EXPECT_NE(logged_.find("cannot watch"), std::string::npos) << logged_;
  EXPECT_NE(logged_.find("watching again"), std::string::npos) << logged_;
}

TEST_F(WatchTest, WhatTheServerForgotIsListedAnew) {
  lists_.push_back(ListOf("50", {"z"}));
  Start();
  ASSERT_TRUE(RunUntilStreams(1));

  stream_->Send(ErrorEvent(410, "Expired"));

  ASSERT_TRUE(RunUntilStreams(2));
  EXPECT_EQ(told_, (std::vector<std::string>{"listed a b", "listed z"}));
  EXPECT_EQ(Versions(), (std::vector<std::string>{"10", "50"}));
}

TEST_F(WatchTest, AlsoWhereItSaysSoInItsStatus) {
  lists_.push_back(ListOf("50", {"z"}));
  watch_answers_ = {Refusal(410, "Expired", "too old resource version")};
  Start();

  ASSERT_TRUE(RunUntilStreams(2));
  EXPECT_EQ(Versions(), (std::vector<std::string>{"10", "50"}));
}

TEST_F(WatchTest, OtherErrorsAreNoReasonToList) {
  Start();
  ASSERT_TRUE(RunUntilStreams(1));

  stream_->Send(ErrorEvent(500, "InternalError"));

  ASSERT_TRUE(RunUntilStreams(2));
  EXPECT_EQ(Versions(), (std::vector<std::string>{"10", "10"}));
  EXPECT_NE(logged_.find("its own words (500 InternalError)"), std::string::npos) << logged_;
}

TEST_F(WatchTest, AStreamOfSomethingElseIsListedAnew) {
  Start();
  ASSERT_TRUE(RunUntilStreams(1));

  stream_->Send(fake::Chunk("<html>\n"));

  ASSERT_TRUE(RunUntilStreams(2));
  EXPECT_EQ(told_, (std::vector<std::string>{"listed a b", "listed a b"}));
}

TEST_F(WatchTest, AStreamOnWhichNothingComesIsTakenUpAgain) {
  limits_.watch = Duration(500);
  limits_.attempt = Duration(1'000);
  Start();
  ASSERT_TRUE(RunUntilStreams(1));
  fake::Peer* first = stream_;

  ASSERT_TRUE(RunUntilStreams(2));

  EXPECT_TRUE(RunUntil([&] { return first->gone(); }));
  EXPECT_EQ(Versions(), (std::vector<std::string>{"10", "10"}));
}

TEST_F(WatchTest, AServerWhoseStreamsEndAtOnceIsNotAskedAllTheTime) {
  watch_answers_.assign(100, fake::ChunkedHead() + fake::kLastChunk);
  Start();
  ASSERT_TRUE(RunUntilStreams(1));
  const Steady begin = SystemClock().Now();

  ASSERT_TRUE(RunUntilStreams(3));

  EXPECT_GE(SystemClock().Now() - begin, Duration(1'500));
}

TEST_F(WatchTest, AListIsReadAgainNoSoonerThanTheServerAskedFor) {
  limits_.deadline = Duration(1'900);
  lists_.insert(lists_.begin(), Refusal(429, "TooManyRequests", "slow down", "Retry-After: 2\r\n"));
  const Steady begin = SystemClock().Now();

  Start();

  ASSERT_TRUE(RunUntilTold(2));
  EXPECT_GE(SystemClock().Now() - begin, Duration(2'000));
  EXPECT_EQ(told_, (std::vector<std::string>{
                       "failed list /api/v1/pods: slow down (429 TooManyRequests)", "listed a b"}));
}

TEST_F(WatchTest, AListIsReadInPages) {
  lists_ = {PageOf("10", "more 1", {"a", "b"}), PageOf("11", "", {"c"})};
  Start();

  ASSERT_TRUE(RunUntilStreams(1));
  EXPECT_EQ(told_, std::vector<std::string>{"listed a b c"});
  EXPECT_EQ(asked_[0].target, "/api/v1/pods?fieldSelector=x&limit=100");
  EXPECT_EQ(asked_[1].target, "/api/v1/pods?fieldSelector=x&limit=100&continue=more%201");
  EXPECT_EQ(Versions(), std::vector<std::string>{"10"});
}

TEST_F(WatchTest, EachPageHasItsTime) {
  limits_.deadline = Duration(6'000);
  lists_ = {PageOf("10", "more 1", {"a"}), ListOf("10", {"b"})};
  os::Loop::Handle held;
  handler_ = [&, at_once = handler_](const fake::Asked& asked, fake::Peer& peer) {
    if (asked.target.find("watch=1") != std::string::npos) return at_once(asked, peer);
    held = loop_.After(Duration(3'500), [&] { peer.Send(lists_[listed_++]); });
  };

  Start();

  ASSERT_TRUE(RunUntilStreams(1));
  EXPECT_EQ(told_, std::vector<std::string>{"listed a b"});
}

TEST_F(WatchTest, APageThatIsFollowedByItselfIsNoApiServers) {
  lists_ = {PageOf("10", "more", {"a"}), PageOf("10", "more", {"b"}), ListOf("20", {"c"})};
  Start();

  ASSERT_TRUE(RunUntilStreams(1));
  EXPECT_EQ(told_, (std::vector<std::string>{"failed list /api/v1/pods: the answer is not an API "
                                             "server's: a page continues with itself",
                                             "listed c"}));
}

TEST_F(WatchTest, AListWhoseBeginningIsForgottenStartsOverOnce) {
  const std::string gone = Refusal(410, "Expired", "the continue parameter is too old");
  lists_ = {PageOf("10", "next", {"a"}), gone,
            PageOf("20", "next", {"b"}), gone,
            PageOf("30", "next", {"b"}), ListOf("30", {"c"})};
  const Steady begin = SystemClock().Now();
  Start();

  ASSERT_TRUE(RunUntilStreams(1));
  EXPECT_EQ(told_, (std::vector<std::string>{
                       "failed list /api/v1/pods: the continue parameter is too old (410 Expired)",
                       "listed b c"}));
  EXPECT_GE(SystemClock().Now() - begin, Duration(500));
  EXPECT_EQ(Versions(), std::vector<std::string>{"30"});
}

TEST_F(WatchTest, PagesThatBreakOffShrinkAndGrowAgain) {
  const std::string half =
      fake::ChunkedHead() + fake::Chunk(R"({"items":[)" + Object("a", "1")) + "no chunk\r\n";
  lists_ = {half, half, half, half, half, PageOf("10", "next", {"a"}), ListOf("10", {"b"})};
  limits_.deadline = Duration(60'000);
  Start();
  ASSERT_TRUE(RunUntilStreams(1));
  ASSERT_TRUE(watch_->Refresh(kPatience));
  ASSERT_TRUE(RunUntilStreams(2));

  EXPECT_EQ(told_, (std::vector<std::string>{"listed a b", "listed b"}));
  std::vector<std::string> limits;
  for (const fake::Asked& one : asked_) {
    const size_t at = one.target.find("limit=");
    if (at != std::string::npos) limits.push_back(one.target.substr(at + 6, 3));
  }
  EXPECT_EQ(limits, (std::vector<std::string>{"100", "50", "25", "12", "10", "10", "10&", "20"}));
}

TEST_F(WatchTest, APageThatIsLargeHasTheNextOneSmaller) {
  lists_ = {fake::Answer(200, R"({"metadata":{"resourceVersion":"1","continue":"next"},"x":")" +
                                  std::string(9 << 20, 'x') + R"("})"),
            ListOf("1", {"b"})};
  Start();
  ASSERT_TRUE(RunUntilStreams(1));

  EXPECT_EQ(asked_[1].target, "/api/v1/pods?fieldSelector=x&limit=50&continue=next");
}

TEST_F(WatchTest, WhoMayNotWatchHasLists) {
  watch_answers_.assign(100, Refusal(403, "Forbidden", "cannot watch pods"));
  Start();

  ASSERT_TRUE(RunUntilTold(2));
  EXPECT_EQ(told_, (std::vector<std::string>{"listed a b", "listed a b"}));
  EXPECT_NE(logged_.find("cannot watch pods (403 Forbidden); the role lacks the rule {apiGroups: "),
            std::string::npos)
      << logged_;
  EXPECT_EQ(logged_.find("cannot watch path"), logged_.rfind("cannot watch path"));
}

TEST_F(WatchTest, RefreshedItIsFollowedFromTheNewList) {
  lists_.push_back(ListOf("50", {"z"}));
  Start();
  ASSERT_TRUE(RunUntilStreams(1));
  fake::Peer* former = stream_;

  EXPECT_TRUE(watch_->Refresh(kPatience));

  ASSERT_TRUE(RunUntilStreams(2));
  EXPECT_EQ(told_, (std::vector<std::string>{"listed a b", "listed z"}));
  EXPECT_EQ(Versions(), (std::vector<std::string>{"10", "50"}));
  EXPECT_TRUE(RunUntil([&] { return former->gone(); }));
  EXPECT_EQ(logged_, "");
}

TEST_F(WatchTest, WhileItIsListedItIsNotRefreshed) {
  Start();

  EXPECT_FALSE(watch_->Refresh(kPatience));

  ASSERT_TRUE(RunUntilStreams(1));
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(WatchTest, WhatHappensDuringARefreshIsToldOnceTheListCannotBeRead) {
  lists_.push_back("");  // no answer
  Start();
  ASSERT_TRUE(RunUntilStreams(1));
  EXPECT_TRUE(watch_->Refresh(Duration(2'000)));
  ASSERT_TRUE(RunUntil([&] { return listed_ == 2; }));

  stream_->Send(Event("ADDED", Object("c", "11")));
  ASSERT_TRUE(RunUntilTold(2));
  stream_->Send(Event("DELETED", Object("c", "12")));

  ASSERT_TRUE(RunUntilTold(4));
  EXPECT_EQ(told_, (std::vector<std::string>{"listed a b", "changed c",
                                             "failed list /api/v1/pods: no answer within 2s",
                                             "deleted c"}));
  EXPECT_EQ(streams_, 1);
}

TEST_F(WatchTest, AStreamThatEndsDuringARefreshIsTakenUpAfterIt) {
  lists_.push_back("");
  Start();
  ASSERT_TRUE(RunUntilStreams(1));
  EXPECT_TRUE(watch_->Refresh(Duration(2'000)));
  ASSERT_TRUE(RunUntil([&] { return listed_ == 2; }));

  stream_->Send(Event("ADDED", Object("c", "11")) + fake::kLastChunk);

  ASSERT_TRUE(RunUntilStreams(2));
  EXPECT_EQ(told_.back(), "failed list /api/v1/pods: no answer within 2s");
  EXPECT_EQ(Versions(), (std::vector<std::string>{"10", "10"}));
}

TEST_F(WatchTest, NoRefreshEndsThePauseAfterAListThatFailed) {
  lists_.push_back(Refusal(400, "BadRequest", "no"));
  Start();
  ASSERT_TRUE(RunUntilStreams(1));
  const Steady begin = SystemClock().Now();
  EXPECT_TRUE(watch_->Refresh(kPatience));
  ASSERT_TRUE(RunUntilTold(2));
  lists_.push_back(ListOf("20", {"c"}));

  EXPECT_TRUE(watch_->Refresh(kPatience));

  ASSERT_TRUE(RunUntilTold(3));
  EXPECT_GE(SystemClock().Now() - begin, Duration(500));
  EXPECT_EQ(told_, (std::vector<std::string>{
                       "listed a b", "failed list /api/v1/pods: no (400 BadRequest)", "listed c"}));
}

TEST_F(WatchTest, AStreamOfMoreThanCanWaitDuringARefreshIsGivenUp) {
  lists_.push_back("");  // no answer
  Start();
  ASSERT_TRUE(RunUntilStreams(1));
  EXPECT_TRUE(watch_->Refresh(Duration(5'000)));
  ASSERT_TRUE(RunUntil([&] { return listed_ == 2; }));
  std::string events;
  for (int i = 0; i < 300; ++i) events += Event("ADDED", Object("c", "11"));

  stream_->Send(events);

  EXPECT_TRUE(RunUntil([&] { return stream_->gone(); }));
}

TEST_F(WatchTest, AStreamIsTakenUpAgainNoSoonerThanItsErrorAskedFor) {
  Start();
  ASSERT_TRUE(RunUntilStreams(1));
  const Steady begin = SystemClock().Now();

  stream_->Send(ErrorEvent(429, "TooManyRequests", 2));

  ASSERT_TRUE(RunUntilStreams(2));
  EXPECT_GE(SystemClock().Now() - begin, Duration(2'000));
}

TEST_F(WatchTest, WhatTheServerForgotIsListedNoSoonerThanItAskedFor) {
  Start();
  ASSERT_TRUE(RunUntilStreams(1));
  const Steady begin = SystemClock().Now();

  stream_->Send(ErrorEvent(410, "Expired", 2));

  ASSERT_TRUE(RunUntilTold(2));
  EXPECT_GE(SystemClock().Now() - begin, Duration(2'000));
}

TEST_F(WatchTest, AListenerMayEndIt) {
  end_at_ = "changed c";
  Start();
  ASSERT_TRUE(RunUntilStreams(1));

  stream_->Send(Event("ADDED", Object("c", "11")) + Event("ADDED", Object("d", "12")));

  ASSERT_TRUE(RunUntilTold(2));
  EXPECT_TRUE(RunUntil([&] { return stream_->gone(); }));
  EXPECT_EQ(told_.size(), 2U);
}

TEST_F(WatchTest, AListenerMayEndItAtTheList) {
  end_at_ = "listed a b";
  Start();

  ASSERT_TRUE(RunUntilTold(1));
  for (int i = 0; i < 50; ++i) loop_.RunOnce();
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(WatchTest, ItMayEndWhileItLists) {
  Start();

  watch_.reset();

  for (int i = 0; i < 200; ++i) loop_.RunOnce();
  EXPECT_EQ(told_.size(), 0U);
}

}  // namespace
}  // namespace tessera::kube
