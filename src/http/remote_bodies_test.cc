// SPDX-License-Identifier: Apache-2.0
// Bodies of answers: the limit of kept bytes, and delivery in pieces.
#include <algorithm>

#include "http/remote_fixture_test.h"

namespace tessera::http {
namespace {

TEST_F(RemoteTest, AnAnswerOver1MiBIsRefusedWhereItIsWantedWhole) {
  const std::string body((1 << 20) + 1, 'x');
  for (const std::string& answer :
       {fake::Answer(200, body), fake::ChunkedHead() + fake::Chunk(body) + fake::kLastChunk}) {
    Serve([&](const fake::Asked&, fake::Peer& peer) { peer.Send(answer); });
    remote().Change(endpoint_);

    ExpectError({Reason::kUnavailable, Where() + ": the answer is over 1 MiB"});
  }
}

TEST_F(RemoteTest, OfALongRefusalThereIsTheBeginning) {
  Serve(Answering(401, std::string(3'000'000, 'x')), Tls());

  const auto reply = Ask();

  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->status, 401);
  EXPECT_TRUE(reply->body == std::string(64 << 10, 'x'));
}

// An API server sends all available data as one chunk of any length. The client must deliver it
// before it is complete.
TEST_F(RemoteTest, ALongAnswerMayBeTakenInPiecesAndTheNextCallHasTheSameConnection) {
  const std::string body(3'000'000, 'x');
  Serve(
      [&](const fake::Asked&, fake::Peer& peer) {
        peer.Send(fake::ChunkedHead() + fake::Chunk(body) + fake::Chunk(body) + fake::kLastChunk);
      },
      Tls());
  for (int i = 0; i < 2; ++i) {
    size_t all = 0;
    size_t longest = 0;
    std::optional<Result<Reply>> end;
    const auto exchange = remote().Ask(
        {}, kPatience, [&](Result<Reply> reply) { end = std::move(reply); },
        [&](std::string_view piece) {
          all += piece.size();
          longest = std::max(longest, piece.size());
        });

    ASSERT_TRUE(RunUntil([&] { return end.has_value(); }));
    ASSERT_TRUE(end->has_value()) << end->error().message;
    EXPECT_EQ((*end)->body, "");
    EXPECT_EQ(all, 6'000'000U);
    EXPECT_LE(longest, 512U << 10);
  }
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(RemoteTest, AServerMayEndAnAnswerWithTheConnection) {
  Serve([&](const fake::Asked&, fake::Peer& peer) {
    peer.Send("HTTP/1.0 200 OK\r\n\r\nall of it");
    peer.HangUp();
  });

  const auto reply = Ask();

  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->body, "all of it");
}

}  // namespace
}  // namespace tessera::http
