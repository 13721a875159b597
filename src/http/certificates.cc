// SPDX-License-Identifier: Apache-2.0
#include "http/certificates.h"

#include <algorithm>
#include <vector>

#include "base/characters.h"
#include "base/quote.h"
#include "http/tls.h"
#include "http/tls_table.h"

namespace tessera::http {
namespace {

constexpr size_t kLongestName = 253;
constexpr size_t kMostNames = 16;  // a certificate with this many fits into a TlsPem
constexpr char kServer[] = "tessera";

TlsText PartOf(const std::string& text) {
  return {text.data(), text.size()};
}

int64_t SecondsOf(Wall time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

Wall TimeOf(int64_t seconds) {
  return Wall(std::chrono::seconds(seconds));
}

// No character of it is special in OpenSSL's list of names.
bool IsDnsName(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
    return IsAlphanumeric(c) || c == '-' || c == '.';
  });
}

Result<Identity> Issue(const TlsWish& wish) {
  const TlsTable* table = TRY(Tls::Table());
  TlsPem certificate{};
  TlsPem key{};
  TlsWords words{};
  if (!table->issue(wish, certificate, key, words)) return Fail({Reason::kInvalid, words.text});
  return Identity{.certificate = certificate.text, .key = key.text};
}

}  // namespace

Result<Identity> MakeAuthority(const std::string& name, const Term& term) {
  return Issue({.name = name.c_str(),
                .names = nullptr,
                .from = SecondsOf(term.from),
                .until = SecondsOf(term.until)});
}

Result<Identity> MakeCertificate(const Identity& authority, std::span<const std::string> names,
                                 const Term& term) {
  if (names.empty() || names.size() > kMostNames) {
    return Fail(Reason::kInvalid, "a certificate has {} names; it may have 1 to {}", names.size(),
                kMostNames);
  }
  std::string list;
  for (const std::string& name : names) {
    if (!IsDnsName(name)) return Fail(Reason::kInvalid, "{} is not a DNS name", Brief(name));
    list += (list.empty() ? "DNS:" : ",DNS:") + name;
  }
  return Issue({.name = kServer,
                .names = list.c_str(),
                .from = SecondsOf(term.from),
                .until = SecondsOf(term.until),
                .ca = PartOf(authority.certificate),
                .ca_key = PartOf(authority.key)});
}

Result<CertificateFacts> LookAtCertificate(const Identity& server, const Identity& authority,
                                           std::span<const std::string> names) {
  const TlsTable* table = TRY(Tls::Table());
  std::vector<TlsText> texts;
  for (const std::string& name : names) texts.push_back(PartOf(name));
  TlsSetFacts facts{};
  TlsWords words{};
  const TlsSet set{.ca = PartOf(authority.certificate),
                   .ca_key = PartOf(authority.key),
                   .certificate = PartOf(server.certificate),
                   .key = PartOf(server.key),
                   .names = texts.data(),
                   .names_size = texts.size()};
  if (!table->look_at(set, facts, words)) return Fail({Reason::kInvalid, words.text});
  return CertificateFacts{
      .server = {.from = TimeOf(facts.from), .until = TimeOf(facts.until)},
      .authority = {.from = TimeOf(facts.ca_from), .until = TimeOf(facts.ca_until)},
      .key_fits = facts.key_fits,
      .authority_key_fits = facts.ca_key_fits,
      .vouched_for = facts.signed_by_ca,
      .names_covered = facts.names_covered};
}

}  // namespace tessera::http
