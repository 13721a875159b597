// SPDX-License-Identifier: Apache-2.0
// Errors of blocking exchanges. Successful exchanges are in server_test.cc.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <thread>

#include "http/blocking.h"
#include "os/files.h"
#include "os/unix_socket.h"

namespace tessera::http {
namespace {

constexpr Duration kWithin{10'000};

TEST(Blocking, NobodyListensIsUnavailable) {
  os::Loop loop;
  auto server =
      Server::ListenTcp(loop, "127.0.0.1:0", [](const Request&) { return Text(""); }).value();
  std::string address = fmt::format("127.0.0.1:{}", server->port());
  server.reset();

  auto response = CallTcp(address, {}, kWithin);

  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error(), (Error{Reason::kUnavailable, address + ": connection refused"}));
}

TEST(Blocking, SilentServerTimesOut) {
  std::string directory = os::MakeTemporaryDirectory("/tmp/tessera-http-").value();
  os::Fd listener = os::ListenUnix(directory + "/silent.sock").value();

  auto response = CallUnix(directory + "/silent.sock", {}, Duration(20));

  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error(), (Error{Reason::kTimedOut, "no answer in time"}));
  (void)os::RemoveTree(directory);
}

TEST(Blocking, ServerThatHangsUpIsUnavailable) {
  std::string directory = os::MakeTemporaryDirectory("/tmp/tessera-http-").value();
  os::Fd listener = os::ListenUnix(directory + "/rude.sock").value();
  std::thread server([&] {
    os::Fd connection;
    while (!connection.valid()) connection = os::Fd(accept(listener.get(), nullptr, nullptr));
  });

  auto response = ExchangeUnix(directory + "/rude.sock", {}, kWithin);
  server.join();

  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error(),
            (Error{Reason::kUnavailable, "the connection closed before an answer came"}));
  (void)os::RemoveTree(directory);
}

TEST(Blocking, SocketThatIsMissingIsNotFound) {
  auto response = ExchangeUnix("/tmp/tessera-http-none/agent.sock", {}, kWithin);

  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error(), (Error{Reason::kNotFound,
                                     "cannot connect to /tmp/tessera-http-none/agent.sock: No such "
                                     "file or directory"}));
}

// A server that closes must not kill a command by SIGPIPE.
TEST(Blocking, ServerThatHangsUpBeforeItHasReadEndsNobody) {
  std::string directory = os::MakeTemporaryDirectory("/tmp/tessera-http-").value();
  os::Fd listener = os::ListenUnix(directory + "/rude.sock").value();
  std::thread server([&] {
    os::Fd connection;
    while (!connection.valid()) connection = os::Fd(accept(listener.get(), nullptr, nullptr));
  });
  const auto before = std::signal(SIGPIPE, SIG_DFL);

  auto response = ExchangeUnix(directory + "/rude.sock",
                               {"POST", "/", {}, std::string(1024 * 1024, 'x')}, kWithin);
  server.join();

  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error(),
            (Error{Reason::kUnavailable, "the connection closed before an answer came"}));
  std::signal(SIGPIPE, before);
  (void)os::RemoveTree(directory);
}

}  // namespace
}  // namespace tessera::http
