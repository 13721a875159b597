// SPDX-License-Identifier: Apache-2.0
// Makes and checks a program's own server certificates and their CA: ECDSA on P-256. Loads the TLS
// library (http/tls.h). PEM texts. Any thread.
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

// A self-signed CA.
Result<Identity> MakeAuthority(const std::string& name, const Term& term);
// A certificate for a server with these DNS names. kInvalid if a name is invalid.
Result<Identity> MakeCertificate(const Identity& authority, std::span<const std::string> names,
                                 const Term& term);

// The facts of a server's certificate and its CA. Of several CA certificates, the first counts.
struct CertificateFacts {
  Term server{};
  Term authority{};
  bool key_fits = false;            // the server's key fits its certificate
  bool authority_key_fits = false;  // the CA's key fits its certificate
  bool vouched_for = false;         // signed by that CA
  bool names_covered = false;       // all given names
  bool operator==(const CertificateFacts&) const = default;
};
// kInvalid if a certificate is unreadable. An unreadable key counts as not fitting.
Result<CertificateFacts> LookAtCertificate(const Identity& server, const Identity& authority,
                                           std::span<const std::string> names);

}  // namespace tessera::http
