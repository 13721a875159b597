// SPDX-License-Identifier: Apache-2.0
// The webhook's certificates, as a Secret holds them for all replicas: a CA that lives ten years,
// and a certificate of one year that it vouches for. Both are made anew when two thirds of their
// life are over. Whether they are to be is a pure function; making them needs the file of TLS. Any
// thread.
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

// Keys of the Secret's data. API servers get all of kAuthorities as the webhook's caBundle: behind
// the CA stands the former one, which vouches for what replicas may serve yet.
inline constexpr char kAuthorities[] = "ca.crt";
inline constexpr char kAuthorityKey[] = "ca.key";
inline constexpr char kCertificate[] = "tls.crt";
inline constexpr char kKey[] = "tls.key";

// What is to be made anew, and why.
struct Renewal {
  enum class Of : uint8_t { kNothing, kLeaf, kAll };
  Of of = Of::kNothing;
  std::string why{};
  bool operator==(const Renewal&) const = default;
};
// By what is known of a Secret's data, or why that cannot be read.
Renewal RenewalOf(const Result<http::CertificateFacts>& facts, Wall now);

// What a server is given of the data.
http::Identity IdentityIn(const kube::Texts& data);

struct Renewed {
  kube::Texts data{};  // of all four keys
  std::string why{};
};
// Nothing where the data is good for the names. kInvalid where certificates cannot be made.
Result<std::optional<Renewed>> Renew(const kube::Texts& data, std::span<const std::string> names,
                                     Wall now);

}  // namespace tessera::webhook
