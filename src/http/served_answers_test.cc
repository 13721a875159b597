// SPDX-License-Identifier: Apache-2.0
// Connections with late answers, several requests, or large requests.
#include "http/served_connections_fixture_test.h"

namespace tessera::http {
namespace {

constexpr Takes kPosts{.posts = true, .chunks = true};
constexpr Takes kSeveral{.posts = true, .requests = 3};

class ServedAnswersTest : public ServedConnectionsTest {
 protected:
  // Requests wait, in order of arrival, until the test answers them.
  void ServeLater(const Takes& takes, const ConnectionLimits& bounds) {
    Serve(
        [this](Request request, Respond respond) {
          paths_ += request.path + " ";
          deadlines_.push_back(request.deadline);
          bodies_.push_back(std::move(request.body));
          responds_.push_back(std::move(respond));
        },
        takes, bounds);
  }
  void ServeAtOnce(const Takes& takes, const ConnectionLimits& bounds) {
    Serve(AtOnce([](const Request& request) {
            return Text("\n" + request.path + " " + std::to_string(request.body.size()));
          }),
          takes, bounds);
  }
  // The raw bytes received.
  static std::string All(const os::Fd& fd) {
    std::string all;
    std::array<char, 65536> part;
    for (ssize_t n = 0; (n = recv(fd.get(), part.data(), part.size(), 0)) > 0;) {
      all.append(part.data(), static_cast<size_t>(n));
    }
    return all;
  }
  std::string AllToItsEnd(const os::Fd& fd) {
    std::string all;
    std::array<char, 65536> part;
    for (ssize_t n = -1; n != 0; loop_.RunOnce()) {
      n = recv(fd.get(), part.data(), part.size(), 0);
      if (n > 0) all.append(part.data(), static_cast<size_t>(n));
    }
    return all;
  }
  void SendAll(const os::Fd& fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
      loop_.RunOnce();
    }
    for (int i = 0; i < 9; ++i) loop_.RunOnce();  // more turns than any of them takes
  }
  static std::string Post(const std::string& path, const std::string& body) {
    return "POST " + path + " HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }

  std::string paths_;
  std::vector<std::string> bodies_;
  std::vector<Steady> deadlines_;
  std::vector<Respond> responds_;
};

TEST_F(ServedAnswersTest, AnAnswerMayComeLater) {
  ServeLater(kPosts, {});
  const os::Fd peer = Connect(kProbe, Post("/bind", "pod"));
  loop_.RunOnce();
  EXPECT_EQ(Received(peer), kNothing);
  EXPECT_EQ(paths_, "/bind ");
  EXPECT_EQ(bodies_[0], "pod");

  responds_[0](Text("\nbound"));
  EXPECT_EQ(Received(peer), kNothing);  // not before the loop has its turn
  loop_.RunOnce();

  EXPECT_EQ(Received(peer), "HTTP/1.1 200 OK\nbound");
  EXPECT_EQ(connections_->dropped(), 0U);
}

TEST_F(ServedAnswersTest, OnlyTheFirstAnswerCounts) {
  ServeLater(kSeveral, {});
  const os::Fd peer = Connect(kProbe, kQuestion);

  responds_[0](Text("\nfirst"));
  responds_[0](Text("\nsecond"));
  loop_.RunOnce();
  responds_[0](Text("\nthird"));
  loop_.RunOnce();

  EXPECT_EQ(Received(peer), "HTTP/1.1 200 OK\nfirst");
}

TEST_F(ServedAnswersTest, AnAnswerOfTheFormerRequestIsNotThatOfTheNext) {
  ServeLater(kSeveral, {});
  const os::Fd peer = Connect(kProbe, kQuestion);
  responds_[0](Text("\nfirst"));
  loop_.RunOnce();
  EXPECT_EQ(Received(peer), "HTTP/1.1 200 OK\nfirst");
  Send(peer, kQuestion);
  ASSERT_EQ(responds_.size(), 2U);

  responds_[0](Text("\nlate"));
  loop_.RunOnce();

  EXPECT_EQ(Received(peer), kNothing);
}

TEST_F(ServedAnswersTest, AHandlerMayAnswerForAnotherRequest) {
  Serve(
      [this](const Request&, Respond respond) {
        responds_.push_back(std::move(respond));
        if (responds_.size() == 2) responds_[0](Text("\nby the second"));
      },
      kPosts, {});
  const os::Fd first = Connect(kProbe, kQuestion);

  const os::Fd second = Connect(kProbe, kQuestion);
  loop_.RunOnce();

  EXPECT_EQ(Received(first), "HTTP/1.1 200 OK\nby the second");
  EXPECT_EQ(Received(second), kNothing);
}

TEST_F(ServedAnswersTest, AnAnswerForAPeerThatHasGoneIsDropped) {
  ServeLater(kPosts, {});
  os::Fd peer = Connect(kProbe, kQuestion);
  EXPECT_EQ(connections_->size(), 1U);

  peer.Reset();
  loop_.RunOnce();

  EXPECT_EQ(connections_->size(), 0U);
  responds_[0](Text("late"));
  loop_.RunOnce();
}

TEST_F(ServedAnswersTest, AnAnswerThatComesWithThePeersEndIsDropped) {
  ServeLater(kPosts, {});
  os::Fd peer = Connect(kProbe, kQuestion);

  responds_[0](Text("late"));
  peer.Reset();
  loop_.RunOnce();

  EXPECT_EQ(connections_->size(), 0U);
}

TEST_F(ServedAnswersTest, AnAnswerForAServerThatHasEndedIsDropped) {
  ServeLater(kPosts, {});
  const os::Fd peer = Connect(kProbe, kQuestion);

  connections_.reset();
  responds_[0](Text("late"));

  EXPECT_EQ(Received(peer), kEnded);
}

TEST_F(ServedAnswersTest, ARequestThatIsNeverAnsweredIsTold503AndLeaves) {
  ServeLater(kPosts, {.timeouts = {.handler = Duration(20)}});
  os::Fd peer = Connect(kProbe, kQuestion);
  const std::string refusal = Failure({Reason::kTimedOut, "no answer was ready in time"}).body;

  const std::string all = AllToItsEnd(peer);
  responds_[0](Text("late"));

  EXPECT_TRUE(all.starts_with("HTTP/1.1 503 Service Unavailable\r\n")) << all;
  EXPECT_TRUE(all.ends_with("Connection: close\r\n\r\n" + refusal)) << all;
  EXPECT_EQ(connections_->dropped(), 0U);
  peer.Reset();
  loop_.RunOnce();
  EXPECT_EQ(connections_->size(), 0U);
}

TEST_F(ServedAnswersTest, ARequestThatItsHandlerGivesUpIsTold500) {
  ServeLater(kPosts, {});
  const os::Fd peer = Connect(kProbe, Post("/bind", "pod"));
  EXPECT_EQ(Received(peer), kNothing);

  responds_.clear();
  loop_.RunOnce();

  const std::string all = All(peer);
  EXPECT_TRUE(all.starts_with("HTTP/1.1 500 Internal Server Error\r\n")) << all;
  EXPECT_TRUE(all.ends_with(
      "\r\n\r\n" + Failure({Reason::kInternal, "POST /bind was dropped without an answer"}).body))
      << all;
}

TEST_F(ServedAnswersTest, AHandlerThatKeepsNothingToAnswerWithHasGivenUp) {
  Serve([](const Request&, const Respond&) {}, kPosts, {});

  const os::Fd peer = Connect(kProbe, kQuestion);

  EXPECT_TRUE(All(peer).starts_with("HTTP/1.1 500 "));
}

TEST_F(ServedAnswersTest, RequestsOfPeersThatHaveGoneCountUntilTheyAreAnswered) {
  ServeLater(kPosts, {.all = 2});
  for (int i = 0; i < 2; ++i) {
    os::Fd gone = Connect(kCrowd, Post("/a", "x"));
    gone.Reset();
    loop_.RunOnce();
  }
  const std::string refusal =
      Failure({Reason::kUnavailable, "too many requests wait for an answer"}).body;
  EXPECT_EQ(connections_->size(), 0U);

  const os::Fd refused = Connect(kProbe, kQuestion);
  responds_[0](Text("late"));
  const os::Fd second = Connect(kProbe, kQuestion);

  const std::string all = All(refused);
  EXPECT_TRUE(all.starts_with("HTTP/1.1 503 ")) << all;
  EXPECT_TRUE(all.ends_with("\r\n\r\n" + refusal)) << all;
  EXPECT_EQ(paths_, "/a /a /healthz ");
}

TEST_F(ServedAnswersTest, BodiesOfPeersThatHaveGoneCountUntilTheirHandlersGiveThemUp) {
  ServeLater({.posts = true}, {.received = 150'000});
  os::Fd gone = Connect(kProbe);
  SendAll(gone, Post("/a", std::string(100'000, 'x')));
  gone.Reset();
  loop_.RunOnce();
  const os::Fd second = Connect(kCrowd, "POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n");
  SendAll(second, std::string(80'000, 'x'));
  EXPECT_TRUE(Received(second).starts_with("HTTP/1.1 503 "));

  responds_.clear();
  const os::Fd third = Connect(kCrowd);
  SendAll(third, Post("/b", std::string(100'000, 'x')));

  EXPECT_EQ(paths_, "/a /b ");
}

TEST_F(ServedAnswersTest, AHandlerKnowsUntilWhenItsAnswerIsWaitedFor) {
  ServeLater(kPosts, {.timeouts = {.handler = Duration(3'600'000)}});
  const Steady before = SystemClock().Now();

  const os::Fd usual = Connect(kProbe, kQuestion);
  const os::Fd sooner = Connect(kProbe, Post("/mutate?timeout=10m", "{}"));
  const os::Fd later = Connect(kProbe, Post("/mutate?timeout=2h", "{}"));

  const Steady after = SystemClock().Now();
  const std::vector<Duration> spans{Duration(3'600'000), Duration(600'000), Duration(3'600'000)};
  ASSERT_EQ(deadlines_.size(), spans.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_GE(deadlines_[i], before + spans[i]) << i;
    EXPECT_LE(deadlines_[i], after + spans[i]) << i;
  }
}

TEST_F(ServedAnswersTest, WhoSaysForHowLongHeWaitsIsToldByThen) {
  ServeLater(kPosts, {.timeouts = {.handler = Duration(3'600'000)}});
  const os::Fd peer = Connect(kProbe, Post("/mutate?timeout=20ms", "{}"));

  EXPECT_TRUE(AllToItsEnd(peer).starts_with("HTTP/1.1 503 "));
}

TEST_F(ServedAnswersTest, AnAnswerThatHasComeIsSentBeforeItsConnectionMakesRoom) {
  ServeLater(kPosts, {.all = 1});
  const os::Fd first = Connect(kProbe, kQuestion);
  responds_[0](Text("\nok"));

  const os::Fd second = Connect(kCrowd);

  EXPECT_EQ(Received(first), "HTTP/1.1 200 OK\nok");
  EXPECT_EQ(connections_->dropped(), 0U);
}

TEST_F(ServedAnswersTest, APeerThatTalksOnWhileItIsAnsweredIsHeardAfterwards) {
  ServeLater(kSeveral, {});
  const os::Fd peer = Connect(kProbe, Post("/a", "x"));

  Send(peer, Post("/b", "y"));
  loop_.RunOnce();
  EXPECT_EQ(paths_, "/a ");
  responds_[0](Text("\nfirst"));
  for (int i = 0; i < 3; ++i) loop_.RunOnce();

  EXPECT_EQ(paths_, "/a /b ");
  EXPECT_EQ(Received(peer), "HTTP/1.1 200 OK\nfirst");
}

TEST_F(ServedAnswersTest, RequestsThatComeTogetherAreAnsweredInTheirOrder) {
  ServeAtOnce(kSeveral, {});
  const os::Fd peer = Connect(kProbe, Post("/a", "1") + Post("/b", "22") + Post("/c", "333"));
  for (int i = 0; i < 5; ++i) loop_.RunOnce();

  const std::string all = All(peer);

  const size_t first = all.find("\n/a 1HTTP/1.1 200 OK\r\n");
  const size_t second = all.find("\n/b 2HTTP/1.1 200 OK\r\n");
  EXPECT_LT(first, second) << all;
  EXPECT_TRUE(all.ends_with("Connection: close\r\n\r\n\n/c 3")) << all;
}

TEST_F(ServedAnswersTest, AConnectionBringsAsManyRequestsAsTheListenerTakes) {
  ServeAtOnce(kSeveral, {});
  const os::Fd peer = Connect(kProbe, kQuestion);
  EXPECT_EQ(All(peer).find("Connection: close"), std::string::npos);
  Send(peer, kQuestion);
  EXPECT_EQ(All(peer).find("Connection: close"), std::string::npos);
  Send(peer, kQuestion);

  EXPECT_NE(All(peer).find("Connection: close\r\n"), std::string::npos);
  AwaitEnd(peer);
}

TEST_F(ServedAnswersTest, APeerThatWantsNoMoreIsLeft) {
  ServeAtOnce(kSeveral, {});
  const os::Fd peer = Connect(kProbe, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n");

  EXPECT_NE(All(peer).find("Connection: close\r\n"), std::string::npos);
  AwaitEnd(peer);
}

TEST_F(ServedAnswersTest, AConnectionThatStaysIdleEnds) {
  ServeAtOnce(kSeveral, {.timeouts = {.idle = Duration(20)}});
  const os::Fd peer = Connect(kProbe, kQuestion);
  EXPECT_EQ(Received(peer), "HTTP/1.1 200 OK\n/healthz 0");

  AwaitEnd(peer);

  EXPECT_EQ(connections_->size(), 0U);
  EXPECT_EQ(connections_->dropped(), 0U);
}

TEST_F(ServedAnswersTest, AConnectionThatHasNotAskedYetMayStayAsLong) {
  ServeAtOnce(kSeveral, {.timeouts = {.request = Duration(0), .idle = Duration(3'600'000)}});
  const os::Fd peer = Connect(kProbe);
  loop_.RunOnce();
  EXPECT_EQ(connections_->size(), 1U);

  Send(peer, kQuestion);

  EXPECT_EQ(Received(peer), "HTTP/1.1 200 OK\n/healthz 0");
}

TEST_F(ServedAnswersTest, AConnectionThatNeverAsksEndsAsAnIdleOne) {
  ServeAtOnce(kSeveral, {.timeouts = {.request = Duration(3'600'000), .idle = Duration(20)}});
  const os::Fd peer = Connect(kProbe);

  AwaitEnd(peer);

  EXPECT_EQ(connections_->size(), 0U);
  EXPECT_EQ(connections_->dropped(), 0U);
}

TEST_F(ServedAnswersTest, ALaterRequestHasItsTimeFromItsFirstByte) {
  ServeAtOnce(kSeveral, {.timeouts = {.request = Duration(20), .idle = Duration(3'600'000)}});
  const os::Fd peer = Connect(kProbe, kQuestion);
  EXPECT_EQ(Received(peer), "HTTP/1.1 200 OK\n/healthz 0");
  Send(peer, "GET / HT");

  AwaitEnd(peer);

  EXPECT_EQ(connections_->dropped(), 1U);
}

TEST_F(ServedAnswersTest, AnIdleConnectionMakesRoomBeforeOneThatIsAnswered) {
  ServeLater(kSeveral, {.all = 2});
  const os::Fd asking = Connect(kProbe, kQuestion);
  const os::Fd idle = Connect(kProbe, kQuestion);
  responds_[1](Text("\nok"));
  loop_.RunOnce();
  EXPECT_EQ(Received(idle), "HTTP/1.1 200 OK\nok");

  const os::Fd other = Connect(kCrowd);

  EXPECT_EQ(Received(idle), kEnded);
  EXPECT_EQ(Received(asking), kNothing);
  EXPECT_EQ(connections_->dropped(), 0U);
}

TEST_F(ServedAnswersTest, ABodyThatTricklesInEndsAllTheSame) {
  ServeLater(kPosts, {.timeouts = {.request = Duration(20)}});
  const os::Fd peer = Connect(kProbe, "POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");

  while (connections_->size() > 0) {
    (void)send(peer.get(), "x", 1, MSG_NOSIGNAL);
    loop_.RunOnce();
  }

  EXPECT_EQ(connections_->dropped(), 1U);
  EXPECT_EQ(paths_, "");
}

TEST_F(ServedAnswersTest, ABodyInChunksThatGrowsTooLongIsRefused) {
  ServeLater({.posts = true, .body = 100'000, .chunks = true}, {});
  const os::Fd peer =
      Connect(kProbe, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nc350\r\n");

  SendAll(peer, std::string(50'000, 'x') + "\r\nc351\r\n");

  EXPECT_TRUE(Received(peer).starts_with("HTTP/1.1 413 "));
  EXPECT_EQ(paths_, "");
}

TEST_F(ServedAnswersTest, WhereTooMuchIsSentAtOnceThePeerThatSendsMostIsRefused) {
  ServeAtOnce({.posts = true}, {.received = 300'000});
  const std::string head = "POST / HTTP/1.1\r\nContent-Length: 400000\r\n\r\n";
  const os::Fd probe = Connect(kProbe, head);
  SendAll(probe, std::string(90'000, 'x'));
  const os::Fd first = Connect(kCrowd, head);
  const os::Fd second = Connect(kCrowd, head);
  SendAll(first, std::string(100'000, 'x'));
  EXPECT_EQ(Received(first), kNothing);

  SendAll(second, std::string(120'000, 'x'));
  loop_.RunOnce();

  const std::string refusal = All(first);
  EXPECT_TRUE(refusal.starts_with("HTTP/1.1 503 ")) << refusal;
  EXPECT_TRUE(refusal.ends_with(
      Failure({Reason::kUnavailable, "too many bytes are being sent at once"}).body))
      << refusal;
  EXPECT_EQ(Received(second), kNothing);
  EXPECT_EQ(Received(probe), kNothing);
}

// A request at a handler counts too, but only an incomplete request can make room for it.
TEST_F(ServedAnswersTest, BodiesThatHandlersHaveCountUntilTheyAreAnswered) {
  ServeLater({.posts = true}, {.received = 150'000});
  const os::Fd first = Connect(kProbe);
  SendAll(first, Post("/a", std::string(100'000, 'x')));
  ASSERT_EQ(responds_.size(), 1U);
  const os::Fd second = Connect(kCrowd, "POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n");
  SendAll(second, std::string(80'000, 'x'));
  loop_.RunOnce();
  EXPECT_TRUE(Received(second).starts_with("HTTP/1.1 503 "));

  responds_[0](Text("\nok"));
  loop_.RunOnce();
  const os::Fd third = Connect(kCrowd, "POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n");
  SendAll(third, std::string(100'000, 'x'));
  loop_.RunOnce();

  EXPECT_EQ(Received(first), "HTTP/1.1 200 OK\nok");
  EXPECT_EQ(responds_.size(), 2U);
}

}  // namespace
}  // namespace tessera::http
