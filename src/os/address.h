// SPDX-License-Identifier: Apache-2.0
// Parses "host:port" to a socket address. Hosts are address literals; no name is resolved. Pure.
// Any thread.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::os {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  bool any = false;  // no host: every address of the machine

  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// "127.0.0.1:9440", "[::1]:0", ":9440". kInvalid otherwise.
Result<Address> ParseAddress(std::string_view text);

// All IPv4 addresses of the machine, for kernels without IPv6.
Address AnyIpv4(uint16_t port);

// Whether `host` is an address literal, without brackets: "127.0.0.1", "::1".
bool IsAddress(const std::string& host);

// The port in host byte order.
uint16_t PortOf(const Address& address);

}  // namespace tessera::os
