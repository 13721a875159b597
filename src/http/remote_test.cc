// SPDX-License-Identifier: Apache-2.0
#include "http/remote.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "http/remote_fixture_test.h"
#include "os/fd.h"

namespace tessera::http {
namespace {

TEST_F(RemoteTest, TheServerGetsTheCallAndWeItsReply) {
  fake::Asked got;
  Serve([&](const fake::Asked& asked, fake::Peer& peer) {
    got = asked;
    peer.Send(fake::Answer(409, "{}", "Retry-After: 7\r\n"));
  });

  const auto reply = Ask({.method = "PATCH",
                          .target = "/api/v1/nodes/n1?x=%20",
                          .headers = {{"Content-Type", "application/merge-patch+json"}},
                          .body = "{\"a\":1}"});

  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->status, 409);
  EXPECT_EQ(reply->body, "{}");
  EXPECT_EQ(reply->headers.at("retry-after"), "7");
  EXPECT_EQ(got.method, "PATCH");
  EXPECT_EQ(got.target, "/api/v1/nodes/n1?x=%20");
  EXPECT_EQ(got.body, "{\"a\":1}");
  EXPECT_EQ(got.headers["host"], Where());
  EXPECT_EQ(got.headers["content-type"], "application/merge-patch+json");
  EXPECT_EQ(got.headers["content-length"], "7");
}

TEST_F(RemoteTest, WhatTakesABodySaysHowLongItIsThoughItIsEmpty) {
  std::vector<fake::Asked> got;
  Serve([&](const fake::Asked& asked, fake::Peer& peer) {
    got.push_back(asked);
    peer.Send(fake::Answer(200, ""));
  });

  ASSERT_TRUE(Ask({.method = "PUT", .body = "{}"}).has_value());
  ASSERT_TRUE(Ask({.method = "PUT"}).has_value());
  ASSERT_TRUE(Ask({.method = "GET"}).has_value());

  EXPECT_EQ(got[0].method, "PUT");
  EXPECT_EQ(got[0].body, "{}");
  EXPECT_EQ(got[0].headers["content-length"], "2");
  EXPECT_EQ(got[1].headers["content-length"], "0");
  EXPECT_FALSE(got[2].headers.contains("content-length"));
}

TEST_F(RemoteTest, OverTlsAsWell) {
  Serve(Answering(200, "yes"), Tls());

  const auto reply = Ask();

  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->body, "yes");
}

TEST_F(RemoteTest, TheNextCallTakesTheSameConnection) {
  Serve(Answering(200, "yes"), Tls());

  ASSERT_TRUE(Ask().has_value());
  ASSERT_TRUE(Ask().has_value());

  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(RemoteTest, NewCredentialsMeanANewConnection) {
  Serve(Answering(200, "yes"), Tls());
  ASSERT_TRUE(Ask().has_value());

  endpoint_.ca += "\n";
  remote().Change(endpoint_);

  ASSERT_TRUE(Ask().has_value());
  EXPECT_EQ(server_->connections(), 2U);
}

TEST_F(RemoteTest, AConnectionThatTheServerClosedMeanwhileIsNoError) {
  Serve(Answering(200, "yes"), Tls());
  ASSERT_TRUE(Ask().has_value());

  server_->HangUp();

  const auto reply = Ask();
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(server_->connections(), 2U);
}

TEST_F(RemoteTest, AConnectionThatTheServerClosesWhenItIsAskedAgainIsNoError) {
  int asked = 0;
  Serve([&](const fake::Asked&, fake::Peer& peer) {
    if (++asked == 2) return peer.HangUp();
    peer.Send(fake::Answer(200, "yes"));
  });
  ASSERT_TRUE(Ask().has_value());

  const auto reply = Ask();

  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(asked, 3);
}

TEST_F(RemoteTest, NobodyListensIsSaidForBothKinds) {
  Serve(Answering(200, "yes"));
  server_.reset();
  ExpectError({Reason::kUnavailable, Where() + ": connection refused"});

  endpoint_.tls = true;
  remote().Change(endpoint_);
  ExpectError({Reason::kUnavailable, Where() + ": connection refused"});
}

TEST_F(RemoteTest, ACertificateOfAnotherAuthorityIsRefused) {
  Serve(Answering(200, "yes"), Tls());
  endpoint_.ca = fake::MakeAuthority("another").certificate;

  ExpectError({Reason::kUnavailable,
               Where() + ": its certificate is refused: unable to get local issuer certificate"});
}

TEST_F(RemoteTest, ACertificateWhoseTimeIsUpIsRefused) {
  Serve(Answering(200, "yes"), Tls({.names = "IP:127.0.0.1", .expired = true}));

  ExpectError(
      {Reason::kUnavailable, Where() + ": its certificate is refused: certificate has expired"});
}

TEST_F(RemoteTest, ACertificateForAnotherAddressOrNameIsRefused) {
  Serve(Answering(200, "yes"), Tls({.names = "IP:127.0.0.2,DNS:api.test"}));
  ExpectError(
      {Reason::kUnavailable, Where() + ": its certificate is refused: IP address mismatch"});

  endpoint_.server_name = "other.test";
  remote().Change(endpoint_);
  ExpectError({Reason::kUnavailable, Where() + ": its certificate is refused: hostname mismatch"});
}

TEST_F(RemoteTest, ACertificatesSubjectIsNoNameOfAServer) {
  Serve(Answering(200, "yes"), Tls({}));
  endpoint_.server_name = "tessera";  // its subject

  ExpectError({Reason::kUnavailable, Where() + ": its certificate is refused: hostname mismatch"});
}

TEST_F(RemoteTest, TheCertificateMayBeForTheNameThatIsGiven) {
  Serve(Answering(200, "yes"), Tls({.names = "DNS:api.test"}));
  endpoint_.server_name = "api.test";

  EXPECT_TRUE(Ask().has_value());
}

TEST_F(RemoteTest, WhoDoesNotVerifyTakesAnyCertificate) {
  Serve(Answering(200, "yes"), Tls({.names = "DNS:api.test", .expired = true}));
  endpoint_.verify = false;

  EXPECT_TRUE(Ask().has_value());
}

TEST_F(RemoteTest, AServerMayWantACertificateOfOurs) {
  fake::ServerTls tls = Tls();
  tls.client_ca = authority_.certificate;
  Serve(Answering(200, "yes"), tls);
  ExpectError({Reason::kUnavailable, Where() + ": TLS: tlsv13 alert certificate required"});

  const fake::Certificate ours = fake::Issue(authority_, {});
  endpoint_.certificate = ours.certificate;
  endpoint_.key = ours.key;
  remote().Change(endpoint_);

  EXPECT_TRUE(Ask().has_value());
}

TEST_F(RemoteTest, CertificatesThatCannotBeReadAreNamed) {
  Serve(Answering(200, "yes"), Tls());
  const Endpoint good = endpoint_;
  endpoint_.ca = "none";
  ExpectError({Reason::kInvalid, Where() + ": the CA's certificate cannot be read: no start line"});

  endpoint_ = good;
  endpoint_.certificate = fake::Issue(authority_, {}).certificate;
  endpoint_.key = fake::Issue(authority_, {}).key;
  remote().Change(endpoint_);
  ExpectError({Reason::kInvalid,
               Where() + ": the client's key does not match its certificate: key values mismatch"});
}

TEST_F(RemoteTest, AServerWithoutTlsIsNotSpokenTo) {
  Serve(Answering(200, "yes"));
  endpoint_.tls = true;
  server_.reset();
  server_ = std::make_unique<fake::Server>(loop_, Answering(200, "yes"));
  endpoint_.port = server_->port();

  const auto reply = Ask({}, Duration(200));

  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error(), (Error{Reason::kTimedOut, Where() + ": no answer in time"}));
}

TEST_F(RemoteTest, WhoNeverAnswersTimesOut) {
  Serve([](const fake::Asked&, fake::Peer&) {}, Tls());

  const auto reply = Ask({}, Duration(100));

  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error(), (Error{Reason::kTimedOut, Where() + ": no answer in time"}));
}

TEST_F(RemoteTest, WhoAnswersHalfTimesOut) {
  for (const char* half : {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "HTTP/1.1 20"}) {
    Serve([&](const fake::Asked&, fake::Peer& peer) { peer.Send(half); });
    remote().Change(endpoint_);

    const auto reply = Ask({}, Duration(100));

    ASSERT_FALSE(reply.has_value()) << half;
    EXPECT_EQ(reply.error(), (Error{Reason::kTimedOut, Where() + ": no answer in time"}));
  }
}

TEST_F(RemoteTest, WhoGoesAwayInTheMiddleIsToldApart) {
  std::string answer;
  const auto handler = [&](const fake::Asked&, fake::Peer& peer) {
    peer.Send(answer);
    peer.HangUp();
  };
  Serve(handler);
  ExpectError({Reason::kUnavailable, Where() + ": the connection closed before an answer came"});

  answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc";
  ExpectError(
      {Reason::kUnavailable, Where() + ": the connection closed in the middle of the answer"});

  answer = "220 smtp.test ready\r\n";
  ExpectError({Reason::kUnavailable, Where() + ": the answer is not HTTP"});
}

TEST_F(RemoteTest, ACallThatWouldBreakTheRequestIsRefused) {
  Serve(Answering(200, "yes"));
  const Error expected{Reason::kInvalid,
                       Where() + ": the call cannot be written as an HTTP request"};

  EXPECT_EQ(Ask({.method = "PURGE"}).error(), expected);
  EXPECT_EQ(Ask({.target = "/a b"}).error(), expected);
  EXPECT_EQ(Ask({.headers = {{"Authorization", "Bearer a\r\nX: y"}}}).error(), expected);
}

TEST_F(RemoteTest, APeerIsFollowedPieceByPieceOnAConnectionOfItsOwn) {
  fake::Peer* peer = nullptr;
  Serve(
      [&](const fake::Asked&, fake::Peer& asking) {
        peer = &asking;
        asking.Send(fake::ChunkedHead() + fake::Chunk("one\n"));
      },
      Tls());
  std::string text;
  std::optional<Result<Reply>> end;
  const auto exchange = remote().Follow(
      {}, kPatience, kPatience, [&](std::string_view piece) { text += piece; },
      [&](Result<Reply> reply) { end = std::move(reply); });

  ASSERT_TRUE(RunUntil([&] { return text == "one\n"; }));
  EXPECT_FALSE(end.has_value());
  peer->Send(fake::Chunk("two\n"));
  ASSERT_TRUE(RunUntil([&] { return text == "one\ntwo\n"; }));
  peer->Send(fake::kLastChunk);

  ASSERT_TRUE(RunUntil([&] { return end.has_value(); }));
  ASSERT_TRUE(end->has_value());
  EXPECT_EQ((*end)->status, 200);
  EXPECT_EQ((*end)->body, "");
}

TEST_F(RemoteTest, ABadAnswerToWhoFollowsIsWhole) {
  Serve(Answering(410, "gone"));
  std::string text;
  std::optional<Result<Reply>> end;
  const auto exchange = remote().Follow(
      {}, kPatience, kPatience, [&](std::string_view piece) { text += piece; },
      [&](Result<Reply> reply) { end = std::move(reply); });

  ASSERT_TRUE(RunUntil([&] { return end.has_value(); }));
  ASSERT_TRUE(end->has_value());
  EXPECT_EQ((*end)->status, 410);
  EXPECT_EQ((*end)->body, "gone");
  EXPECT_EQ(text, "");
}

TEST_F(RemoteTest, SilenceEndsWhatIsFollowed) {
  Serve([&](const fake::Asked&, fake::Peer& peer) {
    peer.Send(fake::ChunkedHead() + fake::Chunk("one\n"));
  });
  std::string text;
  std::optional<Result<Reply>> end;
  const auto exchange = remote().Follow(
      {}, kPatience, Duration(100), [&](std::string_view piece) { text += piece; },
      [&](Result<Reply> reply) { end = std::move(reply); });

  ASSERT_TRUE(RunUntil([&] { return end.has_value(); }));
  EXPECT_EQ(text, "one\n");
  ASSERT_FALSE(end->has_value());
  EXPECT_EQ(end->error(), (Error{Reason::kTimedOut, Where() + ": no answer in time"}));
}

TEST_F(RemoteTest, ACallbackMayEndItsExchange) {
  Serve(
      [&](const fake::Asked&, fake::Peer& peer) {
        peer.Send(fake::ChunkedHead() + fake::Chunk("one\n") + fake::kLastChunk);
      },
      Tls());
  std::unique_ptr<Exchange> exchange;
  int calls = 0;
  exchange = remote().Follow(
      {}, kPatience, kPatience,
      [&](std::string_view) {
        ++calls;
        exchange.reset();
      },
      [&](const Result<Reply>&) { calls += 100; });

  ASSERT_TRUE(RunUntil([&] { return calls != 0; }));
  for (int i = 0; i < 100; ++i) loop_.RunOnce();
  EXPECT_EQ(calls, 1);
}

TEST_F(RemoteTest, NobodyIsCalledOnceACallWasEnded) {
  int asked = 0;
  Serve(
      [&](const fake::Asked&, fake::Peer& peer) {
        ++asked;
        peer.Send(fake::Answer(200, "yes"));
      },
      Tls());
  int calls = 0;
  // Destroys it at every step of its life.
  for (int steps = 0; steps < 40; ++steps) {
    auto exchange = remote().Ask({}, kPatience, [&](const Result<Reply>&) { ++calls; });
    for (int i = 0; i < steps && calls == 0; ++i) loop_.RunOnce();
    exchange.reset();
    calls = 0;
    for (int i = 0; i < 20; ++i) loop_.RunOnce();
    EXPECT_EQ(calls, 0);
  }
  EXPECT_TRUE(Ask().has_value());
}

TEST_F(RemoteTest, ItMayEndWithCallsUnderWay) {
  Serve([](const fake::Asked&, fake::Peer&) {}, Tls());
  auto exchange = remote().Ask({}, kPatience, [](const Result<Reply>&) { FAIL(); });
  ASSERT_TRUE(RunUntil([&] { return server_->connections() == 1; }));

  exchange.reset();
  remote_.reset();

  for (int i = 0; i < 20; ++i) loop_.RunOnce();
}

TEST_F(RemoteTest, NamesAreLookedUp) {
  Serve(Answering(200, "yes"));
  endpoint_.host = "localhost";

  // The first address may be ::1 without a listener; then the next one is tried.
  const auto first = Ask();
  EXPECT_TRUE(first.has_value() || Ask().has_value());
}

TEST_F(RemoteTest, ANameThatNobodyKnowsIsSaid) {
  endpoint_.host = "api.invalid.";
  endpoint_.port = 6443;

  const auto reply = Ask();

  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().reason, Reason::kUnavailable);
  EXPECT_TRUE(
      reply.error().message.starts_with("api.invalid.:6443: host api.invalid. was not found: "))
      << reply.error().message;
}

TEST_F(RemoteTest, ALoopOfAnotherThreadServesAsWell) {
  Serve(Answering(200, "yes"), Tls());
  std::optional<Result<Reply>> found;

  std::thread other([&] {
    os::Loop loop;
    Remote remote(loop, endpoint_);
    const auto exchange = remote.Ask({}, kPatience, [&](Result<Reply> reply) {
      found = std::move(reply);
      loop.Stop();
    });
    loop.Run();
    loop_.Post([&] { loop_.Stop(); });
  });
  loop_.Run();
  other.join();

  ASSERT_TRUE(found && found->has_value());
  EXPECT_EQ((*found)->body, "yes");
}

// As in a client that is destroyed when an answer has just arrived.
TEST(ConnectionTest, OneWhoseCallbackWasPutOffEndsWithItsLoop) {
  bool ended = false;
  {
    os::Loop loop;
    bufferevent* connection = bufferevent_socket_new(loop.base(), -1, BEV_OPT_DEFER_CALLBACKS);
    bufferevent_setcb(connection, [](bufferevent*, void*) {}, nullptr, nullptr, nullptr);
    evbuffer_add_reference(
        bufferevent_get_output(connection), "x", 1,
        [](const void*, size_t, void* flag) { *static_cast<bool*>(flag) = true; }, &ended);
    bufferevent_trigger(connection, EV_READ, BEV_TRIG_IGNORE_WATERMARKS);
    bufferevent_free(connection);
    EXPECT_FALSE(ended);
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace tessera::http
