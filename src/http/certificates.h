// SPDX-License-Identifier: Apache-2.0
// Certificates that a program makes for a server of its own, and who vouches for them: ECDSA on
// P-256, by the file of TLS (http/tls.h), which is loaded for it. PEM texts. Any thread.
#pragma once

#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "http/listen.h"

namespace tessera::http {

struct Term {
  Wall from{};
  Wall until{};
  bool operator==(const Term&) const = default;
};

// One that vouches for others, and for itself.
Result<Identity> MakeAuthority(const std::string& name, const Term& term);
// Of a server that is reached by these DNS names. kInvalid where one is none.
Result<Identity> MakeCertificate(const Identity& authority, std::span<const std::string> names,
                                 const Term& term);

// What there is to know of a server's certificate and its authority's, the first one of its text.
struct CertificateFacts {
  Term server{};
  Term authority{};
  bool key_fits = false;            // the server's, its certificate
  bool authority_key_fits = false;  // likewise
  bool vouched_for = false;         // by that authority
  bool names_covered = false;       // all of them
  bool operator==(const CertificateFacts&) const = default;
};
// kInvalid where a certificate cannot be read; keys that cannot be fit none.
Result<CertificateFacts> LookAtCertificate(const Identity& server, const Identity& authority,
                                           std::span<const std::string> names);

}  // namespace tessera::http
