// SPDX-License-Identifier: Apache-2.0
// Connections over socket pairs; the test has the peers' ends. Header-only, for tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "http/served_connections.h"

namespace tessera::http {

inline constexpr char kQuestion[] = "GET /healthz HTTP/1.1\r\n\r\n";
inline const Peer kProbe{"probe"};
inline const Peer kCrowd{"crowd"};

// The peer's view of a connection without an answer.
inline constexpr char kNothing[] = "nothing yet";
inline constexpr char kEnded[] = "ended";

class ServedConnectionsTest : public testing::Test {
 protected:
  void Serve(const ConnectionLimits& bounds) {
    Serve(AtOnce([this](const Request&) { return ++asked_, Text(answer_); }), Takes::kQuestions,
          bounds);
  }
  void Serve(AsyncHandler handler, const Takes& takes, const ConnectionLimits& bounds) {
    connections_ = std::make_unique<ServedConnections>(loop_, std::move(handler), takes, bounds);
  }
  // The peer's end of a new connection, with `bytes` already sent.
  os::Fd Connect(const Peer& peer, std::string_view bytes = "") {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    os::Fd ours(ends[0]);
    EXPECT_EQ(send(ours.get(), bytes.data(), bytes.size(), 0), ssize_t(bytes.size()));
    connections_->Add(Wire(os::Fd(ends[1])), peer);
    return ours;
  }
  void Send(const os::Fd& fd, std::string_view bytes) {
    ASSERT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), ssize_t(bytes.size()));
    loop_.RunOnce();
  }
  // The status line and the last line received, or one of the words above.
  static std::string Received(const os::Fd& fd) {
    std::string all;
    std::array<char, 65536> part;
    ssize_t n = 0;
    while ((n = recv(fd.get(), part.data(), part.size(), 0)) > 0) {
      all.append(part.data(), static_cast<size_t>(n));
    }
    if (all.empty()) return n == 0 ? kEnded : kNothing;
    return all.substr(0, all.find('\r')) + all.substr(all.rfind('\n'));
  }
  // Runs the loop until the peer's end is closed.
  void AwaitEnd(const os::Fd& fd) {
    std::array<char, 65536> part;
    for (;;) {
      const ssize_t n = recv(fd.get(), part.data(), part.size(), MSG_PEEK);
      if (n == 0 || (n < 0 && errno != EAGAIN)) return;
      loop_.RunOnce();
    }
  }

  os::Loop loop_;
  std::unique_ptr<ServedConnections> connections_;
  std::string answer_ = "\nok";
  int asked_ = 0;
};

}  // namespace tessera::http
