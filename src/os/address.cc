// SPDX-License-Identifier: Apache-2.0
#include "os/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>
#include <optional>

namespace tessera::os {
namespace {

std::optional<uint16_t> ParsePort(std::string_view text) {
  uint16_t port = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return port;
}

template <class T>
Address Make(const T& socket_address) {
  Address address;
  std::memcpy(&address.storage, &socket_address, sizeof socket_address);
  address.length = sizeof socket_address;
  return address;
}

Address Ipv6(const in6_addr& host, uint16_t port) {
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(port);
  in.sin6_addr = host;
  return Make(in);
}

Address Ipv4(const in_addr& host, uint16_t port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  in.sin_addr = host;
  return Make(in);
}

}  // namespace

Result<Address> ParseAddress(std::string_view text) {
  size_t colon = text.rfind(':');
  auto port = colon == text.npos ? std::nullopt : ParsePort(text.substr(colon + 1));
  if (!port) return Fail(Reason::kInvalid, "'{}' is not an address of the form host:port", text);
  std::string host(text.substr(0, colon));
  if (host.empty()) {
    Address address = Ipv6(in6addr_any, *port);
    address.any = true;
    return address;
  }
  in6_addr ipv6{};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']' &&
      inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &ipv6) == 1) {
    return Ipv6(ipv6, *port);
  }
  in_addr ipv4{};
  if (inet_pton(AF_INET, host.c_str(), &ipv4) == 1) return Ipv4(ipv4, *port);
  return Fail(Reason::kInvalid,
              "'{}' in '{}' is not an address: write 127.0.0.1, [::1] or nothing for all", host,
              text);
}

Address AnyIpv4(uint16_t port) {
  return Ipv4(in_addr{.s_addr = htonl(INADDR_ANY)}, port);
}

bool IsAddress(const std::string& host) {
  in6_addr any{};  // large enough for both families
  return inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

uint16_t PortOf(const Address& address) {
  if (address.family() == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address.storage, sizeof in);
    return ntohs(in.sin6_port);
  }
  sockaddr_in in{};
  std::memcpy(&in, &address.storage, sizeof in);
  return ntohs(in.sin_port);
}

}  // namespace tessera::os
