// SPDX-License-Identifier: Apache-2.0
// Makes certificates for one test, as PEM texts. Each call makes a new key. Any thread.
#pragma once

#include <string>

namespace tessera::fake {

struct Certificate {
  std::string certificate{};
  std::string key{};
};

// A self-signed CA with this common name, valid for a day.
Certificate MakeAuthority(const std::string& name);

struct Wanted {
  std::string names{};   // the subject's alternative names: "IP:127.0.0.1,DNS:api.test"
  bool expired = false;  // since a day
};
// A certificate for a server or a client, signed by the authority.
Certificate Issue(const Certificate& authority, const Wanted& wanted);

}  // namespace tessera::fake
