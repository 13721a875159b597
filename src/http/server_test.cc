// SPDX-License-Identifier: Apache-2.0
// Server and client together, over real sockets.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>
#include <vector>

#include "http/blocking.h"
#include "http/http.h"
#include "os/address.h"
#include "os/files.h"
#include "os/unix_socket.h"

namespace tessera::http {
namespace {

constexpr Duration kPatience{10'000};

// Answers with the request.
Response Echo(const Request& request) {
  json::Object query;
  for (const auto& [name, value] : request.query) query[name] = value;
  json::Object echo{{"method", request.method},
                    {"path", request.path},
                    {"query", std::move(query)},
                    {"body", request.body}};
  return {200, "application/json", json::Write(std::move(echo))};
}

class ServerTest : public testing::Test {
 protected:
  ServerTest() : directory_(os::MakeTemporaryDirectory("/tmp/tessera-http-").value()) {}
  ~ServerTest() override {
    if (thread_.joinable()) {
      loop_.Stop();
      thread_.join();
    }
    server_.reset();
    (void)os::RemoveTree(directory_);
  }

  std::string SocketPath() const { return directory_ + "/agent.sock"; }

  void ServeUnix(Handler handler) {
    auto server = Server::ListenUnix(loop_, SocketPath(), std::move(handler));
    ASSERT_TRUE(server.has_value()) << server.error().Text();
    server_ = *std::move(server);
    thread_ = std::thread([this] { loop_.Run(); });
  }

  // Sends these raw bytes and returns everything that comes back.
  std::string Raw(std::string_view bytes) {
    os::Fd fd = os::ConnectUnix(SocketPath(), kPatience).value();
    while (!bytes.empty()) {
      ssize_t n = send(fd.get(), bytes.data(), std::min<size_t>(bytes.size(), 4096), MSG_NOSIGNAL);
      if (n < 0 && errno != EAGAIN) break;
      if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
    }
    std::string all;
    char part[4096];
    while (true) {
      ssize_t n = recv(fd.get(), part, sizeof part, 0);
      if (n == 0 || (n < 0 && errno != EAGAIN)) return all;
      if (n > 0) all.append(part, static_cast<size_t>(n));
    }
  }

  std::string directory_;
  os::Loop loop_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

TEST_F(ServerTest, GetOverUnixSocket) {
  ServeUnix(Echo);

  auto response =
      CallUnix(SocketPath(), {"GET", "/explain", {{"device", "a.com/npu/7 &+%"}}, ""}, kPatience);

  ASSERT_TRUE(response.has_value()) << response.error().Text();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->content_type, "application/json");
  EXPECT_EQ(response->body,
            R"({"method":"GET","path":"/explain","query":{"device":"a.com/npu/7 &+%"},"body":""})");
}

TEST_F(ServerTest, PostOverUnixSocket) {
  ServeUnix(Echo);

  auto response = CallUnix(SocketPath(), {"POST", "/cordon", {}, "{\"device\":\"7\"}"}, kPatience);

  ASSERT_TRUE(response.has_value()) << response.error().Text();
  EXPECT_EQ(response->body,
            R"({"method":"POST","path":"/cordon","query":{},"body":"{\"device\":\"7\"}"})");
}

TEST_F(ServerTest, TcpOnAPortOfTheKernelsChoice) {
  auto server = Server::ListenTcp(loop_, "127.0.0.1:0", Echo);
  ASSERT_TRUE(server.has_value()) << server.error().Text();
  server_ = *std::move(server);
  ASSERT_GT(server_->port(), 0);
  thread_ = std::thread([this] { loop_.Run(); });

  auto response =
      CallTcp(fmt::format("127.0.0.1:{}", server_->port()), {"GET", "/x", {}, ""}, kPatience);

  ASSERT_TRUE(response.has_value()) << response.error().Text();
  EXPECT_EQ(response->body, R"({"method":"GET","path":"/x","query":{},"body":""})");
}

TEST_F(ServerTest, OverTcpNoOrdersAreTaken) {
  std::atomic<int> calls = 0;
  server_ = Server::ListenTcp(loop_, "127.0.0.1:0", [&](const Request&) {
              return ++calls, Text("ok");
            }).value();
  thread_ = std::thread([this] { loop_.Run(); });
  const std::string address = fmt::format("127.0.0.1:{}", server_->port());

  const auto order =
      CallTcp(address, {"POST", "/cordon", {}, std::string(512 * 1024, 'x')}, kPatience);

  EXPECT_EQ(order.error(),
            (Error{Reason::kInvalid, "orders are accepted on the control socket only"}));
  EXPECT_EQ(calls, 0);
}

// The server keeps a spare descriptor, so a client still learns what the agent lacks.
TEST_F(ServerTest, WithoutDescriptorsOneConnectionAtATimeIsAnswered) {
#ifdef TESSERA_ASAN
  GTEST_SKIP() << "the undefined sanitizer needs descriptors to look at objects; the thread "
                  "sanitizer's run has it";
#endif
  server_ = Server::ListenTcp(loop_, "127.0.0.1:0", Echo).value();
  const os::Address address =
      os::ParseAddress(fmt::format("127.0.0.1:{}", server_->port())).value();
  os::Fd peers[2];
  for (os::Fd& peer : peers) peer = os::Fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<os::Fd> all;
  for (int fd = 0; (fd = dup(0)) >= 0;) all.emplace_back(fd);

  std::string answers;
  for (os::Fd& peer : peers) {
    ASSERT_EQ(connect(peer.get(), address.get(), address.length), 0);
    ASSERT_GT(send(peer.get(), "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL), 0);
    loop_.RunOnce();
    char part[4096];
    const ssize_t n = recv(peer.get(), part, sizeof part, MSG_DONTWAIT);
    answers += std::string(part, n < 0 ? 0 : static_cast<size_t>(n)).substr(0, 15) + "\n";
    peer.Reset();
    loop_.RunOnce();
  }
  all.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);

  EXPECT_EQ(answers, "HTTP/1.1 200 OK\nHTTP/1.1 200 OK\n");
}

TEST_F(ServerTest, AddressWithoutHostTakesIpv4) {
  auto server = Server::ListenTcp(loop_, ":0", Echo);
  ASSERT_TRUE(server.has_value()) << server.error().Text();
  server_ = *std::move(server);
  thread_ = std::thread([this] { loop_.Run(); });

  EXPECT_TRUE(CallTcp(fmt::format("127.0.0.1:{}", server_->port()), {}, kPatience).has_value());
}

TEST_F(ServerTest, PortInUseIsSaid) {
  server_ = Server::ListenTcp(loop_, "127.0.0.1:0", Echo).value();
  std::string address = fmt::format("127.0.0.1:{}", server_->port());

  auto second = Server::ListenTcp(loop_, address, Echo);

  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error(), (Error{Reason::kPortInUse, "cannot listen on " + address}));
}

TEST_F(ServerTest, LargeAnswersArriveWhole) {
  std::string large(5'000'000, 'x');
  ServeUnix([&](const Request&) { return Text(large); });

  auto response = CallUnix(SocketPath(), {}, kPatience);

  ASSERT_TRUE(response.has_value()) << response.error().Text();
  EXPECT_EQ(response->content_type, "text/plain; charset=utf-8");
  EXPECT_TRUE(response->body == large);
}

TEST_F(ServerTest, FailuresComeBackAsErrors) {
  ServeUnix([](const Request&) { return Failure({Reason::kNotFound, "no device 99"}); });

  auto response = CallUnix(SocketPath(), {}, kPatience);

  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error(), (Error{Reason::kNotFound, "no device 99"}));
}

TEST_F(ServerTest, HeadHasLengthAndNoBody) {
  ServeUnix([](const Request& request) { return Text(request.method); });

  std::string answer = Raw("HEAD /healthz HTTP/1.0\r\n\r\n");

  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("Content-Length: 3\r\n"), answer.npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

TEST_F(ServerTest, OtherMethodsAreRefused) {
  std::atomic<int> calls = 0;
  ServeUnix([&](const Request&) { return ++calls, Text("ok"); });

  std::string answer = Raw("DELETE /inventory HTTP/1.0\r\n\r\n");

  EXPECT_TRUE(answer.starts_with("HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD, POST\r\n"))
      << answer;
  EXPECT_EQ(calls, 0);
}

TEST_F(ServerTest, BodyOfAMebibyteIsTaken) {
  ServeUnix([](const Request& request) { return Text(std::to_string(request.body.size())); });

  auto response =
      CallUnix(SocketPath(), {"POST", "/", {}, std::string(1024 * 1024, 'x')}, kPatience);

  ASSERT_TRUE(response.has_value()) << response.error().Text();
  EXPECT_EQ(response->body, "1048576");
}

TEST_F(ServerTest, LargerBodiesNeverReachTheHandler) {
  std::atomic<int> calls = 0;
  ServeUnix([&](const Request&) { return ++calls, Text("ok"); });

  auto response =
      CallUnix(SocketPath(), {"POST", "/", {}, std::string(1024 * 1024 + 1, 'x')}, kPatience);

  EXPECT_FALSE(response.has_value());
  EXPECT_EQ(calls, 0);
}

TEST_F(ServerTest, LargeHeadersNeverReachTheHandler) {
  std::atomic<int> calls = 0;
  ServeUnix([&](const Request&) { return ++calls, Text("ok"); });

  std::string answer = Raw("GET / HTTP/1.0\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");

  EXPECT_EQ(answer.find("200 OK"), answer.npos) << answer;
  EXPECT_EQ(calls, 0);
}

TEST_F(ServerTest, SocketIsForItsOwnerOnly) {
  ServeUnix(Echo);

  EXPECT_EQ(os::Inspect(SocketPath()).value().mode, 0600U);
}

TEST_F(ServerTest, SocketFileEndsWithTheServer) {
  server_ = Server::ListenUnix(loop_, SocketPath(), Echo).value();

  server_.reset();

  EXPECT_FALSE(os::Exists(SocketPath()));
}

TEST_F(ServerTest, SocketOfASuccessorStays) {
  server_ = Server::ListenUnix(loop_, SocketPath(), Echo).value();
  ASSERT_TRUE(os::RemoveFile(SocketPath()).has_value());
  os::Fd successor = os::ListenUnix(SocketPath()).value();

  server_.reset();

  EXPECT_TRUE(os::Exists(SocketPath()));
}

TEST_F(ServerTest, StaleSocketIsReplaced) {
  (void)os::ListenUnix(SocketPath()).value();

  EXPECT_TRUE(Server::ListenUnix(loop_, SocketPath(), Echo).has_value());
}

TEST_F(ServerTest, LiveSocketIsNotReplaced) {
  os::Fd other = os::ListenUnix(SocketPath()).value();

  auto server = Server::ListenUnix(loop_, SocketPath(), Echo);

  ASSERT_FALSE(server.has_value());
  EXPECT_EQ(server.error().reason, Reason::kSocketInUse);
}

}  // namespace
}  // namespace tessera::http
