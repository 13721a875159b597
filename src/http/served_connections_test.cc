// SPDX-License-Identifier: Apache-2.0
// Connections and their limits, over socket pairs.
#include "http/served_connections_fixture_test.h"

namespace tessera::http {
namespace {

TEST_F(ServedConnectionsTest, ARequestThatIsThereIsAnsweredAtOnceAndThePeerEndsIt) {
  Serve({});
  os::Fd peer = Connect(kProbe, kQuestion);

  EXPECT_EQ(Received(peer), "HTTP/1.1 200 OK\nok");
  EXPECT_EQ(connections_->size(), 1U);
  peer.Reset();
  loop_.RunOnce();
  EXPECT_EQ(connections_->size(), 0U);
  EXPECT_EQ(connections_->dropped(), 0U);
}

TEST_F(ServedConnectionsTest, ARequestIsReadInPieces) {
  Serve({});
  const std::string question = kQuestion;
  const os::Fd peer = Connect(kProbe);

  for (const char each : question) {
    EXPECT_EQ(Received(peer), kNothing);
    ASSERT_EQ(send(peer.get(), &each, 1, 0), 1);
    loop_.RunOnce();
  }

  EXPECT_EQ(Received(peer), "HTTP/1.1 200 OK\nok");
}

TEST_F(ServedConnectionsTest, ABodyThatIsAnnouncedIsNotWaitedFor) {
  Serve({});

  const os::Fd peer = Connect(kProbe, "GET / HTTP/1.1\r\nContent-Length: 1048576\r\n\r\nxx");

  EXPECT_TRUE(Received(peer).starts_with("HTTP/1.1 413 ")) << Received(peer);
  EXPECT_EQ(asked_, 0);
}

TEST_F(ServedConnectionsTest, WhereAPeerHasAllThatItMayItsOldestEnds) {
  Serve({.all = 9, .of_peer = 2});
  const os::Fd first = Connect(kCrowd);
  const os::Fd second = Connect(kCrowd);
  const os::Fd other = Connect(kProbe);

  const os::Fd third = Connect(kCrowd);

  EXPECT_EQ(Received(first), kEnded);
  for (const os::Fd* fd : {&second, &third, &other}) EXPECT_EQ(Received(*fd), kNothing);
  EXPECT_EQ(connections_->dropped(), 1U);
}

TEST_F(ServedConnectionsTest, ThisMachineMayHaveMore) {
  Serve({.all = 9, .of_peer = 1, .of_loopback = 3});
  const os::Fd first = Connect(Peer{});
  const os::Fd second = Connect(Peer{});
  const os::Fd third = Connect(Peer{});
  EXPECT_EQ(connections_->size(), 3U);

  const os::Fd fourth = Connect(Peer{});

  EXPECT_EQ(Received(first), kEnded);
  EXPECT_EQ(connections_->size(), 3U);
}

TEST_F(ServedConnectionsTest, WhereAllAreTakenThePeerWithMostMakesRoom) {
  Serve({.all = 4, .of_peer = 3});
  const os::Fd probe = Connect(kProbe);
  const os::Fd first = Connect(kCrowd);
  const os::Fd second = Connect(kCrowd);
  const os::Fd third = Connect(kCrowd);

  const os::Fd other = Connect(Peer{"another"}, kQuestion);

  EXPECT_EQ(Received(other), "HTTP/1.1 200 OK\nok");
  EXPECT_EQ(Received(first), kEnded);
  for (const os::Fd* fd : {&probe, &second, &third}) EXPECT_EQ(Received(*fd), kNothing);
  EXPECT_EQ(connections_->size(), 4U);
}

TEST_F(ServedConnectionsTest, OfPeersWithAsManyTheOldestMakesRoom) {
  Serve({.all = 2});
  const os::Fd first = Connect({"z"});
  const os::Fd probe = Connect({});
  const os::Fd newest = Connect({"y"});

  EXPECT_EQ(Received(first), kEnded);
  EXPECT_EQ(Received(probe), kNothing);
  EXPECT_EQ(Received(newest), kNothing);
}

TEST_F(ServedConnectionsTest, ARequestOfAConnectionThatMakesRoomIsNotBegun) {
  Serve({.all = 1});
  const os::Fd first = Connect(kProbe);
  ASSERT_GT(send(first.get(), kQuestion, sizeof kQuestion - 1, 0), 0);

  const os::Fd second = Connect(kCrowd);

  AwaitEnd(first);
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(connections_->dropped(), 1U);
}

TEST_F(ServedConnectionsTest, ARequestThatDoesNotComeIsNotWaitedForLonger) {
  Serve({.timeouts = {.request = Duration(20)}});
  const os::Fd idle = Connect(kProbe);
  const os::Fd half = Connect(kProbe, "GET / HT");

  AwaitEnd(idle);
  AwaitEnd(half);

  EXPECT_EQ(connections_->size(), 0U);
  EXPECT_EQ(connections_->dropped(), 2U);
  EXPECT_EQ(asked_, 0);
}

TEST_F(ServedConnectionsTest, ARequestThatDripsInEndsAllTheSame) {
  Serve({.timeouts = {.request = Duration(20)}});
  const os::Fd peer = Connect(kProbe, "GET / HTTP/1.1\r\nX: ");

  while (connections_->size() > 0) {
    (void)send(peer.get(), "x", 1, MSG_NOSIGNAL);
    loop_.RunOnce();
  }

  EXPECT_EQ(connections_->dropped(), 1U);
  EXPECT_EQ(asked_, 0);
}

TEST_F(ServedConnectionsTest, AnAnswerThatNobodyReadsIsNotKept) {
  answer_ = std::string(5'000'000, 'x');
  Serve({.timeouts = {.answer = Duration(20)}});
  const os::Fd peer = Connect(kProbe, kQuestion);
  EXPECT_EQ(connections_->size(), 1U);

  while (connections_->size() > 0) loop_.RunOnce();

  EXPECT_EQ(connections_->dropped(), 1U);
}

TEST_F(ServedConnectionsTest, AnAnswerThatIsReadSlowlyArrivesWhole) {
  answer_ = std::string(1'000'000, 'x');
  Serve({});
  const os::Fd peer = Connect(kProbe, kQuestion);
  std::string all;
  std::array<char, 10'000> part;

  for (;;) {
    const ssize_t n = recv(peer.get(), part.data(), part.size(), 0);
    if (n == 0) break;
    if (n > 0) all.append(part.data(), static_cast<size_t>(n));
    loop_.RunOnce();
  }

  EXPECT_TRUE(all.ends_with("\r\n\r\n" + answer_));
  EXPECT_EQ(connections_->dropped(), 0U);
}

TEST_F(ServedConnectionsTest, OfAnswersThatWaitTheNewestIsKeptWhateverItsSize) {
  answer_ = std::string(2'000'000, 'x');
  Serve({.waiting = 3'000'000});
  const os::Fd first = Connect(kProbe, kQuestion);
  const os::Fd idle = Connect(kProbe);
  EXPECT_EQ(connections_->size(), 2U);

  answer_ = std::string(5'000'000, 'x');
  const os::Fd second = Connect(kProbe, kQuestion);

  EXPECT_EQ(connections_->size(), 2U);
  EXPECT_EQ(connections_->dropped(), 1U);
  EXPECT_EQ(Received(idle), kNothing);
  const std::string part = Received(first);
  EXPECT_LT(part.size(), 2'000'000U);
  AwaitEnd(first);
}

TEST_F(ServedConnectionsTest, OneEndsWhereADescriptorIsWanted) {
  Serve({});
  EXPECT_FALSE(connections_->DropOne());
  const os::Fd peer = Connect(kProbe);

  EXPECT_TRUE(connections_->DropOne());

  EXPECT_EQ(Received(peer), kEnded);
  EXPECT_EQ(connections_->size(), 0U);
}

TEST_F(ServedConnectionsTest, APeerThatSendsWithoutEndIsLeft) {
  Serve({});
  const os::Fd peer = Connect(kProbe, "POST / HTTP/1.1\r\n");
  const std::string more(16'384, 'x');

  while (connections_->size() > 0) {
    (void)send(peer.get(), more.data(), more.size(), MSG_NOSIGNAL);
    loop_.RunOnce();
  }

  EXPECT_EQ(asked_, 0);
}

}  // namespace
}  // namespace tessera::http
