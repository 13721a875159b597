// SPDX-License-Identifier: Apache-2.0
// Certificates made for one test. PEM texts.
#pragma once

#include <string>

namespace tessera::fake {

struct Certificate {
  std::string certificate{};
  std::string key{};
};

// A CA of that name.
Certificate MakeAuthority(const std::string& name);

struct Wanted {
  std::string names{};  // "IP:127.0.0.1,DNS:api.test"
  bool expired = false;
};
// One that the authority has signed, for a server or a client.
Certificate Issue(const Certificate& authority, const Wanted& wanted);

}  // namespace tessera::fake
