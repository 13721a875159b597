// SPDX-License-Identifier: Apache-2.0
// Which connections are dropped when connections carry several requests: slow ones before fast
// ones.
#include "http/served_connections_fixture_test.h"

namespace tessera::http {
namespace {

constexpr Takes kKept{.posts = true, .requests = 9};

class ServedRoomTest : public ServedConnectionsTest {
 protected:
  void Serve(const ConnectionLimits& bounds) {
    ServedConnectionsTest::Serve(
        AtOnce([](const Request& request) {
          return Text("\n" + request.path + " " + std::to_string(request.body.size()));
        }),
        kKept, bounds);
  }
  static constexpr char kAnswer[] = "HTTP/1.1 200 OK\n/healthz 0";
};

TEST_F(ServedRoomTest, OfIdleOnesTheOneThatHasBeenIdleLongestMakesRoom) {
  Serve({.of_peer = 2});
  const os::Fd quick = Connect(kCrowd, kQuestion);
  EXPECT_EQ(Received(quick), kAnswer);
  const os::Fd silent = Connect(kCrowd);
  Send(quick, kQuestion);
  EXPECT_EQ(Received(quick), kAnswer);

  const os::Fd other = Connect(kCrowd);

  EXPECT_EQ(Received(silent), kEnded);
  EXPECT_EQ(Received(quick), kNothing);
}

TEST_F(ServedRoomTest, OfRequestsThatComeInTheOneThatBeganFirstMakesRoom) {
  Serve({.of_peer = 2});
  const os::Fd quick = Connect(kCrowd, kQuestion);
  EXPECT_EQ(Received(quick), kAnswer);
  const os::Fd slow = Connect(kCrowd, "GET / HT");
  Send(quick, "GET /healthz HTTP/1.1\r\n");

  const os::Fd other = Connect(kCrowd, "GET /");

  EXPECT_EQ(Received(slow), kEnded);
  Send(quick, "\r\n");
  EXPECT_EQ(Received(quick), kAnswer);
}

TEST_F(ServedRoomTest, OneThatDripsInIsAsOldAsItsFirstByte) {
  Serve({.of_peer = 2});
  const os::Fd slow = Connect(kCrowd, "GET / HT");
  const os::Fd quick = Connect(kCrowd, "GET /healthz HTTP/1.1\r\n");
  Send(slow, "T");

  const os::Fd other = Connect(kCrowd, "GET /");

  EXPECT_EQ(Received(slow), kEnded);
  Send(quick, "\r\n");
  EXPECT_EQ(Received(quick), kAnswer);
}

TEST_F(ServedRoomTest, WhereTooMuchIsSentTheBodyThatBeganFirstIsRefused) {
  Serve({.received = 3'000});
  const os::Fd quick = Connect(kCrowd, kQuestion);
  EXPECT_EQ(Received(quick), kAnswer);
  const std::string half =
      "POST / HTTP/1.1\r\nContent-Length: 4000\r\n\r\n" + std::string(2'000, 'x');
  const os::Fd slow = Connect(kCrowd, half);
  EXPECT_EQ(Received(slow), kNothing);

  Send(quick, half);

  loop_.RunOnce();
  EXPECT_TRUE(Received(slow).starts_with("HTTP/1.1 503 ")) << Received(slow);
  Send(quick, std::string(2'000, 'x'));
  EXPECT_EQ(Received(quick), "HTTP/1.1 200 OK\n/ 4000");
}

}  // namespace
}  // namespace tessera::http
