// SPDX-License-Identifier: Apache-2.0
#include "http/certificates.h"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <vector>

#include "api/certificates.h"
#include "api/server.h"
#include "http/http.h"
#include "http/remote.h"

namespace tessera::http {
namespace {

const std::vector<std::string> kServiceName = {"webhook.test.svc"};

Term TermNow() {
  const Wall now = SystemClock().WallNow();
  return {.from = now - std::chrono::hours(1), .until = now + std::chrono::hours(1)};
}

// An API server checks for the Service's name, whatever address it connects to.
TEST(Certificates, AServerWithOneIsTrustedByWhomItsAuthorityIs) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto authority = MakeAuthority("ours", TermNow());
  ASSERT_TRUE(authority.has_value()) << authority.error().message;
  const auto made = MakeCertificate(*authority, kServiceName, TermNow());
  ASSERT_TRUE(made.has_value()) << made.error().message;
  os::Loop loop;
  ListenOptions options;
  options.identity = *made;
  const auto server = Server::ListenTcp(
      loop, "127.0.0.1:0", [](const Request&, const Respond& respond) { respond(Text("here")); },
      options);
  ASSERT_TRUE(server.has_value()) << server.error().message;
  for (const auto& [ca, answer] : {std::pair{authority->certificate, true},
                                   std::pair{fake::MakeAuthority("other").certificate, false}}) {
    Remote remote(loop, Endpoint{.host = "127.0.0.1",
                                 .port = (*server)->port(),
                                 .ca = ca,
                                 .server_name = kServiceName[0]});
    std::optional<Result<Reply>> reply;
    const auto exchange =
        remote.Ask({}, Duration(60'000), [&](Result<Reply> got) { reply = std::move(got); });
    ASSERT_TRUE(fake::RunUntil(loop, Duration(60'000), [&] { return reply.has_value(); }));
    EXPECT_EQ(reply->has_value(), answer);
  }
}

TEST(Certificates, AnotherAuthoritysKeySignsNothing) {
  Identity authority = *MakeAuthority("one", TermNow());
  authority.key = MakeAuthority("other", TermNow())->key;
  const auto made = MakeCertificate(authority, kServiceName, TermNow());
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().reason, Reason::kInvalid);
  EXPECT_TRUE(made.error().message.starts_with("a certificate cannot be made: "));
}

TEST(Certificates, WhatIsNoCertificateIsSaid) {
  const Identity authority = *MakeAuthority("one", TermNow());
  const auto facts = LookAtCertificate({.certificate = "x"}, authority, kServiceName);
  EXPECT_TRUE(facts.error().message.starts_with("the certificate cannot be read: "));
  const auto none = LookAtCertificate({}, {}, kServiceName);
  EXPECT_TRUE(none.error().message.starts_with("the CA's certificate cannot be read: "));
}

TEST(Certificates, AsManyNamesAsAreTakenFit) {
  const Identity authority = *MakeAuthority("one", TermNow());
  std::vector<std::string> names;
  for (int i = 0; i < 16; ++i) {
    const std::string label(60, static_cast<char>('a' + i));
    names.push_back(label + "." + label + "." + label + "." + label);
  }
  const auto made = MakeCertificate(authority, names, TermNow());
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_TRUE(LookAtCertificate(*made, authority, names)->names_covered);
}

}  // namespace
}  // namespace tessera::http
