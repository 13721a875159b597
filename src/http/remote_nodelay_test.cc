// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/certificates.h"
#include "api/server.h"
#include "http/remote.h"
#include "os/files.h"

namespace tessera::http {
namespace {

constexpr Duration kLongest{20'000};

// For each connection to this port: whether small segments are delayed.
std::vector<bool> DelaysTo(int port) {
  std::vector<bool> delays;
  const auto names = os::ListDirectory("/proc/self/fd");
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    const int fd = std::stoi(name);
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    const bool known = getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
    if (!known || ntohs(peer.sin_port) != port) continue;
    int at_once = 0;
    size = sizeof at_once;
    EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, &size), 0);
    delays.push_back(at_once == 0);
  }
  return delays;
}

std::vector<bool> DelaysWith(const fake::ServerTls& tls, const std::string& ca) {
  os::Loop loop;
  const fake::Server server(
      loop, [](const fake::Asked&, fake::Peer& peer) { peer.Send(fake::Answer(200, "yes")); }, tls);
  Endpoint endpoint;
  endpoint.host = "127.0.0.1";
  endpoint.port = server.port();
  endpoint.tls = !ca.empty();
  endpoint.ca = ca;
  Remote remote(loop, endpoint);
  std::optional<Result<Reply>> reply;
  const auto exchange =
      remote.Ask({}, kLongest, [&](Result<Reply> answer) { reply = std::move(answer); });
  const Steady end = SystemClock().Now() + kLongest;
  while (!reply && SystemClock().Now() < end) {
    loop.RunOnce();
    std::this_thread::yield();
  }
  EXPECT_TRUE(reply && *reply);
  return DelaysTo(server.port());
}

TEST(RemoteNodelayTest, NoBodyWaitsForTheServerToSayThatItHasTheHeaders) {
  EXPECT_EQ(DelaysWith({}, ""), std::vector<bool>{false});
}

TEST(RemoteNodelayTest, OverTlsNeither) {
  const fake::Certificate authority = fake::MakeAuthority("kubernetes");
  const fake::Certificate made = fake::Issue(authority, {.names = "IP:127.0.0.1"});
  EXPECT_EQ(DelaysWith({.certificate = made.certificate, .key = made.key}, authority.certificate),
            std::vector<bool>{false});
}

}  // namespace
}  // namespace tessera::http
