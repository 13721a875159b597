// SPDX-License-Identifier: Apache-2.0
// A fake server and a client of it. Header-only, for tests.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/certificates.h"
#include "api/server.h"
#include "http/remote.h"

namespace tessera::http {

inline constexpr Duration kPatience{20'000};

class RemoteTest : public testing::Test {
 protected:
  RemoteTest() { std::signal(SIGPIPE, SIG_IGN); }

  void Serve(fake::Server::Handler handler, const fake::ServerTls& tls = {}) {
    server_ = std::make_unique<fake::Server>(loop_, std::move(handler), tls);
    endpoint_.host = "127.0.0.1";
    endpoint_.port = server_->port();
    endpoint_.tls = !tls.certificate.empty();
    if (endpoint_.tls) endpoint_.ca = authority_.certificate;
  }
  fake::ServerTls Tls(const fake::Wanted& wanted = {.names = "IP:127.0.0.1"}) const {
    const fake::Certificate made = fake::Issue(authority_, wanted);
    return {.certificate = made.certificate, .key = made.key};
  }
  std::string Where() const { return fmt::format("127.0.0.1:{}", endpoint_.port); }

  Remote& remote() {
    if (!remote_) remote_ = std::make_unique<Remote>(loop_, endpoint_);
    return *remote_;
  }
  bool RunUntil(const std::function<bool()>& done) {
    return fake::RunUntil(loop_, kPatience, done);
  }
  Result<Reply> Ask(Call call = {}, Duration limit = kPatience) {
    std::optional<Result<Reply>> found;
    const auto exchange = remote().Ask(std::move(call), limit,
                                       [&](Result<Reply> reply) { found = std::move(reply); });
    if (!RunUntil([&] { return found.has_value(); })) return Fail(Reason::kInternal, "no end");
    return *std::move(found);
  }
  void ExpectError(const Error& expected) {
    const auto reply = Ask();
    ASSERT_FALSE(reply.has_value());
    EXPECT_EQ(reply.error(), expected);
  }

  os::Loop loop_;
  const fake::Certificate authority_ = fake::MakeAuthority("kubernetes");
  std::unique_ptr<fake::Server> server_;
  Endpoint endpoint_;
  std::unique_ptr<Remote> remote_;
};

inline fake::Server::Handler Answering(int status, const std::string& body) {
  return [=](const fake::Asked&, fake::Peer& peer) { peer.Send(fake::Answer(status, body)); };
}

}  // namespace tessera::http
