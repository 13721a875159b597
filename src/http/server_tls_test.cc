// SPDX-License-Identifier: Apache-2.0
// TLS servers, with our own client and with raw bytes.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/certificates.h"
#include "api/server.h"
#include "http/http.h"
#include "http/listen.h"
#include "http/remote.h"
#include "os/address.h"
#include "os/fd.h"

namespace tessera::http {
namespace {

constexpr Duration kLong{20'000};

Identity IdentityOf(const fake::Certificate& authority) {
  const fake::Certificate made = fake::Issue(authority, {.names = "IP:127.0.0.1"});
  return {.certificate = made.certificate, .key = made.key};
}

class ServerTlsTest : public testing::Test {
 protected:
  ServerTlsTest() { std::signal(SIGPIPE, SIG_IGN); }

  void Serve(AsyncHandler handler, ListenOptions options = {}) {
    options.takes.posts = true;
    options.takes.requests = 100;
    options.identity = IdentityOf(authority_);
    auto server = Server::ListenTcp(loop_, "127.0.0.1:0", std::move(handler), options);
    ASSERT_TRUE(server.has_value()) << server.error().Text();
    server_ = *std::move(server);
  }
  void ServeSizes(const ListenOptions& options = {}) {
    Serve(AtOnce([](const Request& request) { return Text(std::to_string(request.body.size())); }),
          options);
  }
  // A client that trusts only this authority.
  std::unique_ptr<Remote> ClientOf(const fake::Certificate& authority) {
    return std::make_unique<Remote>(
        loop_, Endpoint{.host = "127.0.0.1", .port = server_->port(), .ca = authority.certificate});
  }
  bool RunUntil(const std::function<bool()>& done) { return fake::RunUntil(loop_, kLong, done); }
  Result<Reply> Ask(Remote& remote, std::string body = "") {
    std::optional<Result<Reply>> found;
    const auto exchange =
        remote.Ask({.method = "POST", .target = "/filter", .body = std::move(body)}, kLong,
                   [&](Result<Reply> reply) { found = std::move(reply); });
    if (!RunUntil([&] { return found.has_value(); })) return Fail(Reason::kInternal, "no end");
    return *std::move(found);
  }
  // "STATUS BODY", or the error's message.
  std::string Answer(Remote& remote, std::string body = "") {
    const auto reply = Ask(remote, std::move(body));
    return reply ? fmt::format("{} {}", reply->status, reply->body) : reply.error().message;
  }

  // A connection that sends these bytes.
  os::Fd Connect(std::string_view bytes) {
    const auto address = os::ParseAddress(fmt::format("127.0.0.1:{}", server_->port())).value();
    os::Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd.get(), address.get(), address.length), 0);
    EXPECT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), ssize_t(bytes.size()));
    return fd;
  }
  // Everything received until the connection's end.
  std::string Received(const os::Fd& fd) {
    std::string all;
    const bool ended = RunUntil([&] {
      std::array<char, 4096> part;
      const ssize_t n = recv(fd.get(), part.data(), part.size(), MSG_DONTWAIT);
      if (n > 0) all.append(part.data(), static_cast<size_t>(n));
      return n == 0 || (n < 0 && errno != EAGAIN);
    });
    return ended ? all : "no end";
  }

  os::Loop loop_;
  const fake::Certificate authority_ = fake::MakeAuthority("one");
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTlsTest, ALargeBodyIsTakenAndALargeAnswerArrives) {
  Serve(AtOnce([](const Request& request) { return Text(request.body + request.path); }));
  const auto client = ClientOf(authority_);
  const std::string body(1'000'000, 'x');

  EXPECT_TRUE(Answer(*client, body) == "200 " + body + "/filter");
}

TEST_F(ServerTlsTest, AnAnswerMayComeLater) {
  Respond respond;
  Serve([&](const Request&, Respond with) { respond = std::move(with); });
  const auto client = ClientOf(authority_);
  std::optional<Result<Reply>> found;
  const auto exchange =
      client->Ask({}, kLong, [&](Result<Reply> reply) { found = std::move(reply); });
  ASSERT_TRUE(RunUntil([&] { return respond != nullptr; }));
  EXPECT_FALSE(found.has_value());

  respond(Text("bound"));

  ASSERT_TRUE(RunUntil([&] { return found.has_value(); }));
  ASSERT_TRUE(found->has_value()) << found->error().message;
  EXPECT_EQ((*found)->body, "bound");
}

TEST_F(ServerTlsTest, AnAnswerAfterThePeerHasGoneHarmsNobody) {
  std::vector<Respond> responds;
  Serve([&](const Request&, Respond with) { responds.push_back(std::move(with)); });
  const auto client = ClientOf(authority_);
  auto exchange = client->Ask({}, kLong, [](const Result<Reply>&) { FAIL(); });
  ASSERT_TRUE(RunUntil([&] { return responds.size() == 1; }));

  exchange.reset();
  for (int i = 0; i < 9; ++i) loop_.RunOnce();
  responds[0](Text("late"));

  std::optional<Result<Reply>> found;
  exchange = client->Ask({}, kLong, [&](Result<Reply> reply) { found = std::move(reply); });
  ASSERT_TRUE(RunUntil([&] { return responds.size() == 2; }));
  responds[1](Text("in time"));
  ASSERT_TRUE(RunUntil([&] { return found.has_value(); }));
  ASSERT_TRUE(found->has_value()) << found->error().message;
  EXPECT_EQ((*found)->body, "in time");
}

TEST_F(ServerTlsTest, ARequestThatIsNeverAnsweredIsTold503) {
  Respond respond;
  Serve([&](const Request&, Respond with) { respond = std::move(with); },
        {.bounds = {.timeouts = {.handler = Duration(20)}}});

  EXPECT_EQ(Answer(*ClientOf(authority_)),
            "503 " + Failure({Reason::kTimedOut, "no answer was ready in time"}).body);
  respond(Text("late"));
}

TEST_F(ServerTlsTest, ABodyThatIsTooLongIsRefusedWhileItIsStillSent) {
  ServeSizes({.takes = {.body = 100'000}});
  const auto client = ClientOf(authority_);

  const auto reply = Ask(*client, std::string(5'000'000, 'x'));

  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->status, 413);
  EXPECT_EQ(Answer(*client, std::string(100'000, 'x')), "200 100000");
}

TEST_F(ServerTlsTest, ANewCertificateIsThatOfNewConnections) {
  const fake::Certificate other = fake::MakeAuthority("another");
  ServeSizes();
  const auto before = ClientOf(authority_);
  EXPECT_EQ(Answer(*before, "1"), "200 1");

  ASSERT_TRUE(server_->Change(IdentityOf(other)).has_value());

  EXPECT_EQ(Answer(*ClientOf(other), "22"), "200 2");
  EXPECT_EQ(Answer(*before, "333"), "200 3");  // on the connection that it has
  EXPECT_EQ(Answer(*ClientOf(authority_)),
            fmt::format("127.0.0.1:{}: its certificate is refused: unable to get local issuer "
                        "certificate",
                        server_->port()));
}

TEST_F(ServerTlsTest, ABadPairIsNamedAndTheLastGoodOneGoesOn) {
  ServeSizes();
  const Identity good = IdentityOf(authority_);
  const std::pair<Identity, std::string> bad[] = {
      {{good.certificate, IdentityOf(authority_).key},
       "the server's key does not match its certificate: key values mismatch"},
      {{good.certificate, "none"}, "the server's key cannot be read: unsupported"},
      {{good.certificate, ""}, "the server's key cannot be read: unsupported"},
      {{"none", good.key}, "the server's certificate cannot be read: no start line"},
      {{"", ""}, "the server's certificate cannot be read: no start line"}};

  for (const auto& [identity, message] : bad) {
    EXPECT_EQ(server_->Change(identity).error(), (Error{Reason::kInvalid, message}));
  }

  EXPECT_EQ(Answer(*ClientOf(authority_)), "200 0");
}

TEST_F(ServerTlsTest, AServerDoesNotBeginWithABadPair) {
  const auto server =
      Server::ListenTcp(loop_, "127.0.0.1:0", AtOnce([](const Request&) { return Text(""); }),
                        {.identity = Identity{}});

  ASSERT_FALSE(server.has_value());
  EXPECT_EQ(server.error(),
            (Error{Reason::kInvalid, "the server's certificate cannot be read: no start line"}));
}

TEST_F(ServerTlsTest, AHandshakeHasItsTime) {
  ServeSizes({.bounds = {.timeouts = {.request = Duration(20)}}});
  const os::Fd silent = Connect("");
  const os::Fd half = Connect({"\x16\x03\x01\x00", 4});

  EXPECT_EQ(Received(silent), "");
  EXPECT_EQ(Received(half), "");
  EXPECT_EQ(server_->dropped(), 2U);
}

TEST_F(ServerTlsTest, AHandshakeCountsAmongTheConnections) {
  ServeSizes({.bounds = {.all = 2}});
  const os::Fd first = Connect("");
  const os::Fd second = Connect({"\x16\x03\x01\x00", 4});

  EXPECT_EQ(Answer(*ClientOf(authority_)), "200 0");

  EXPECT_EQ(Received(first), "");
  EXPECT_EQ(server_->dropped(), 1U);
}

TEST_F(ServerTlsTest, WithoutTlsNothingIsAnswered) {
  ServeSizes();
  const os::Fd peer = Connect("GET / HTTP/1.1\r\n\r\n");

  EXPECT_EQ(Received(peer).find("HTTP"), std::string::npos);
}

TEST_F(ServerTlsTest, OlderThanTls12IsRefused) {
  ServeSizes();
  std::string hello("\x03\x02", 2);  // a client's of TLS 1.1
  hello += std::string(32, 'r');
  hello += std::string("\x00\x00\x04\xc0\x13\x00\x2f\x01\x00", 9);
  const std::string message =
      std::string("\x01\x00\x00", 3) + static_cast<char>(hello.size()) + hello;

  const os::Fd peer =
      Connect(std::string("\x16\x03\x01\x00", 4) + static_cast<char>(message.size()) + message);

  const std::string alert = Received(peer);
  ASSERT_EQ(alert.size(), 7U);
  EXPECT_EQ(alert[0], 0x15);
  EXPECT_EQ(alert.substr(5), "\x02\x46");  // fatal: the protocol's version
}

}  // namespace
}  // namespace tessera::http
