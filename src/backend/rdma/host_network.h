// SPDX-License-Identifier: Apache-2.0
// The host's own use of its interfaces, which no pod may take away. Plain data; any thread; reads
// sysfs and /proc.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "backend/rdma/names.h"
#include "os/files.h"

namespace tessera::rdma {

struct HostNetwork {
  // The interfaces that carry a default route, by the process's network namespace.
  std::set<std::string> routes{};
  // The process seems to be in another namespace than the host, whose routes are then not known.
  bool is_foreign = false;
  bool operator==(const HostNetwork&) const = default;
};
// `interfaces`: those of hardware (Names).
HostNetwork ReadHostNetwork(const os::Root& root, std::span<const Face> interfaces);
// The interfaces in the text of /proc/net/route with a default route.
std::set<std::string> ParseDefaultRoutes(std::string_view text);
// Likewise of /proc/net/ipv6_route.
std::set<std::string> ParseDefaultRoutes6(std::string_view text);
// The interfaces in the text of /proc/net/dev.
std::set<std::string> ParseInterfaces(std::string_view text);

}  // namespace tessera::rdma
