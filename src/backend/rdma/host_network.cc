// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/host_network.h"

#include <fmt/core.h>

#include "backend/sysfs.h"
#include "base/text.h"

namespace tessera::rdma {
namespace {

constexpr std::string_view kInterfaces = "/sys/class/net";

// A bond or a VLAN has the interfaces below it as links "lower_NAME".
void AddLower(const os::Root& root, const std::string& interface, int depth,
              std::set<std::string>& all) {
  constexpr std::string_view kLower = "lower_";
  constexpr int kDeepest = 8;
  if (depth > kDeepest || !all.insert(interface).second) return;
  for (const std::string& name :
       sysfs::Names(root.Path(fmt::format("{}/{}", kInterfaces, interface)))) {
    if (name.starts_with(kLower)) AddLower(root, name.substr(kLower.size()), depth + 1, all);
  }
}

std::string ProcText(const os::Root& root, std::string_view path) {
  const auto text = os::ReadFile(root.Path(path), 1 << 20);
  return text ? *text : "";
}

}  // namespace

std::set<std::string> ParseDefaultRoutes(std::string_view text) {
  constexpr size_t kDestination = 1, kMask = 7;
  constexpr std::string_view kAny = "00000000";
  std::set<std::string> names;
  for (const std::string& line : Split(text, '\n')) {
    const std::vector<std::string> fields = Split(line, '\t');
    if (fields.size() <= kMask || fields[kDestination] != kAny || Trim(fields[kMask]) != kAny) {
      continue;
    }
    names.emplace(Trim(fields[0]));
  }
  return names;
}

// Fields: destination and the length of its prefix, source and that of its, and others up to the
// interface. The kernel keeps a default route of "lo" that refuses.
std::set<std::string> ParseDefaultRoutes6(std::string_view text) {
  const std::string any = std::string(32, '0') + " 00 ";
  std::set<std::string> names;
  for (const std::string& line : Split(text, '\n')) {
    if (!line.starts_with(any)) continue;
    const std::string_view fields = Trim(line);
    const std::string_view name = fields.substr(fields.rfind(' ') + 1);
    if (name != "lo") names.emplace(name);
  }
  return names;
}

std::set<std::string> ParseInterfaces(std::string_view text) {
  std::set<std::string> names;
  for (const std::string& line : Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos) names.emplace(Trim(std::string_view(line).substr(0, colon)));
  }
  return names;
}

HostNetwork ReadHostNetwork(const os::Root& root, std::span<const Face> interfaces) {
  HostNetwork network;
  const sysfs::Directory directory(root.Path(kInterfaces));
  const std::set<std::string> own = ParseInterfaces(ProcText(root, "/proc/net/dev"));
  network.is_foreign = !own.empty() && interfaces.empty();
  for (const Face& face : interfaces) {
    // One that a pod has taken between both listings is none of the host's any more.
    network.is_foreign |= !own.empty() && !own.contains(face.name) && directory.Has(face.name);
  }
  std::set<std::string> routes = ParseDefaultRoutes(ProcText(root, "/proc/net/route"));
  routes.merge(ParseDefaultRoutes6(ProcText(root, "/proc/net/ipv6_route")));
  for (const std::string& route : routes) AddLower(root, route, 0, network.routes);
  return network;
}

}  // namespace tessera::rdma
