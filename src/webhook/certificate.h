// SPDX-License-Identifier: Apache-2.0
// The webhook's certificates in the Secret that all replicas share: a CA for ten years, and a
// certificate for one year that the CA signs. Each is renewed after two thirds of its life. The
// decision is a pure function; making certificates needs the TLS library. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "http/certificates.h"
#include "kube/objects/members.h"

namespace tessera::webhook {

// Keys of the Secret's data. The webhook's caBundle has all of kAuthorities: the CA, then the
// former CA, because replicas may still serve a certificate of the former.
inline constexpr char kAuthorities[] = "ca.crt";
inline constexpr char kAuthorityKey[] = "ca.key";
inline constexpr char kCertificate[] = "tls.crt";
inline constexpr char kKey[] = "tls.key";

// What to renew, and why.
struct Renewal {
  enum class Of : uint8_t { kNothing, kLeaf, kAll };
  Of of = Of::kNothing;
  std::string why{};
  bool operator==(const Renewal&) const = default;
};
// Decides from the facts of a Secret's data, or from the error that makes it unreadable.
Renewal RenewalOf(const Result<http::CertificateFacts>& facts, Wall now);

// The identity that a server serves from the data.
http::Identity IdentityIn(const kube::Texts& data);

struct Renewed {
  kube::Texts data{};  // all four keys
  std::string why{};
};
// Nothing if the data is valid for the names. kInvalid if certificates cannot be made.
Result<std::optional<Renewed>> Renew(const kube::Texts& data, std::span<const std::string> names,
                                     Wall now);

}  // namespace tessera::webhook
