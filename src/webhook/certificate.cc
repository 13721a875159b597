// SPDX-License-Identifier: Apache-2.0
#include "webhook/certificate.h"

#include <fmt/core.h>

#include <chrono>
#include <string_view>
#include <utility>

namespace tessera::webhook {
namespace {

constexpr Duration kAuthorityLife = std::chrono::hours(24 * 3650);
constexpr Duration kCertificateLife = std::chrono::hours(24 * 365);
// Machines' clocks differ, so a new certificate is valid from an hour ago.
constexpr Duration kBefore = std::chrono::hours(1);
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";

// Empty if at least a third of its life is left.
std::string WhyOver(const http::Term& term, Wall now) {
  if (now < term.from) return "is not valid yet";
  if (now >= term.until) return "has expired";
  return now >= term.from + (term.until - term.from) * 2 / 3 ? "expires soon" : "";
}

std::string WhyNot(const http::CertificateFacts& facts, Wall now) {
  if (const auto why = WhyOver(facts.authority, now); !why.empty()) return "the CA " + why;
  if (!facts.vouched_for) return "the CA has not signed the certificate";
  if (!facts.key_fits) return "the key does not match the certificate";
  if (!facts.names_covered) return "the certificate lacks a name of the Service";
  const std::string why = WhyOver(facts.server, now);
  return why.empty() ? "" : "the certificate " + why;
}

std::string TextIn(const kube::Texts& data, std::string_view key) {
  const auto found = data.find(key);
  return found == data.end() ? "" : found->second;
}

// The first certificate in a PEM text.
std::string FirstOf(const std::string& text) {
  const size_t end = text.find(kEnd);
  return end == std::string::npos ? "" : text.substr(0, end + kEnd.size()) + "\n";
}

http::Identity AuthorityIn(const kube::Texts& data) {
  return {.certificate = TextIn(data, kAuthorities), .key = TextIn(data, kAuthorityKey)};
}

// API servers distinguish CAs by name, so each name is unique.
Result<http::Identity> NewAuthority(Wall now) {
  return http::MakeAuthority(fmt::format("tessera-webhook-{}", now.time_since_epoch().count()),
                             {.from = now - kBefore, .until = now + kAuthorityLife});
}

}  // namespace

Renewal RenewalOf(const Result<http::CertificateFacts>& facts, Wall now) {
  if (!facts) return {Renewal::Of::kAll, facts.error().message};
  std::string why = WhyNot(*facts, now);
  if (why.empty()) return {};
  const bool signs = facts->authority_key_fits && WhyOver(facts->authority, now).empty();
  return {signs ? Renewal::Of::kLeaf : Renewal::Of::kAll, std::move(why)};
}

http::Identity IdentityIn(const kube::Texts& data) {
  return {.certificate = TextIn(data, kCertificate), .key = TextIn(data, kKey)};
}

Result<std::optional<Renewed>> Renew(const kube::Texts& data, std::span<const std::string> names,
                                     Wall now) {
  http::Identity authority = AuthorityIn(data);
  const auto facts = http::LookAtCertificate(IdentityIn(data), authority, names);
  Renewal renewal = RenewalOf(facts, now);
  if (renewal.of == Renewal::Of::kNothing) return std::optional<Renewed>();
  std::string authorities = authority.certificate;
  if (renewal.of == Renewal::Of::kAll) {
    const std::string former =
        facts && now < facts->authority.until ? FirstOf(authority.certificate) : "";
    authority = TRY(NewAuthority(now));
    authorities = authority.certificate + former;
  }
  const http::Identity made = TRY(http::MakeCertificate(
      authority, names, {.from = now - kBefore, .until = now + kCertificateLife}));
  return std::optional<Renewed>({.data = {{kAuthorities, std::move(authorities)},
                                          {kAuthorityKey, authority.key},
                                          {kCertificate, made.certificate},
                                          {kKey, made.key}},
                                 .why = std::move(renewal.why)});
}

}  // namespace tessera::webhook
