// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/link.h"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "backend/sysfs.h"
#include "base/text.h"

namespace tessera::rdma {
namespace {

using Kind = LinkState::Kind;

// The kernel's numbers of a port's states (ib_port_state, ib_port_phys_state).
constexpr int kDown = 1, kInit = 2, kArmed = 3, kActive = 4, kActiveDefer = 5;
constexpr int kDisabled = 3;

std::string WordOf(std::string_view text) {
  const size_t colon = text.find(':');
  return std::string(colon == text.npos ? text : Trim(text.substr(colon + 1)));
}

// The flag IFF_UP of linux/if.h.
bool IsSetUp(const std::string& interface) {
  constexpr uint64_t kUp = 1;
  const auto flags = sysfs::Number<uint64_t>(sysfs::HexText(interface + "/flags"), 16);
  return !flags || (*flags & kUp) != 0;
}

// `interface`: the port's, or empty. A port of Ethernet is "Disabled" without a carrier, whether
// the cable is out or a person has set the interface down. The interface alone knows.
LinkState ReadPort(const std::string& hca, const std::string& port, const std::string& interface) {
  const std::string directory = fmt::format("{}/ports/{}", hca, port);
  const std::string state = sysfs::Text(directory + "/state");
  const std::string physical = sysfs::Text(directory + "/phys_state");
  const std::string name = fmt::format("port {} of {}", port, FileName(hca));
  switch (ParseState(state).value_or(0)) {
    case kActive:
    case kActiveDefer:
      return {Kind::kUp, ""};
    case kInit:
    case kArmed:
      return {Kind::kNoFabric,
              fmt::format("{} is {}: no subnet manager has set it up", name, WordOf(state))};
    case kDown: {
      const bool is_off = sysfs::Text(directory + "/link_layer") == "InfiniBand"
                              ? ParseState(physical) == kDisabled
                              : !interface.empty() && !IsSetUp(interface);
      return {is_off ? Kind::kOff : Kind::kDown,
              fmt::format("{} is DOWN ({})", name, WordOf(physical))};
    }
    default:
      return {Kind::kUnknown, fmt::format("the state of {} cannot be read", name)};
  }
}

LinkState ReadInterface(const std::string& interface) {
  const std::string name(FileName(interface));
  if (!IsSetUp(interface)) return {Kind::kOff, name + " is set down"};
  const std::string carrier = sysfs::Text(interface + "/carrier");
  if (carrier == "1") return {Kind::kUp, ""};
  if (carrier == "0") return {Kind::kDown, name + " has no carrier"};
  return {Kind::kUnknown, fmt::format("the carrier of {} cannot be read", name)};
}

void TakeBetter(LinkState state, LinkState& best) {
  if (best.kind == Kind::kNone || state.kind < best.kind) best = std::move(state);
}

// The number of the interface's port of its RDMA device. Drivers without `dev_port` have `dev_id`.
// Nothing: the interface is not here.
std::optional<int> PortOf(const std::string& interface) {
  const std::string text = sysfs::Text(interface + "/dev_port");
  const auto index = text.empty() ? sysfs::Number<int>(sysfs::HexText(interface + "/dev_id"), 16)
                                  : sysfs::Number<int>(text);
  return index ? std::optional(*index + 1) : std::nullopt;
}

// By the port's name.
std::map<std::string, std::string> InterfacesOfPorts(const std::string& directory,
                                                     const Function& function) {
  std::map<std::string, std::string> interfaces;
  for (const std::string& name : function.interfaces) {
    const std::string interface = fmt::format("{}/net/{}", directory, name);
    if (const auto port = PortOf(interface)) interfaces.emplace(std::to_string(*port), interface);
  }
  return interfaces;
}

// The worst of the ports with an interface here, as a program may use each. Without one, the best
// of all: a port that nobody uses has no cable.
LinkState ReadPorts(const std::string& directory, const Function& function) {
  const std::string hca = fmt::format("{}/infiniband/{}", directory, function.hca);
  auto interfaces = InterfacesOfPorts(directory, function);
  const std::vector<std::string> ports = sysfs::Names(hca + "/ports");
  // Some drivers number the ports of a card, and not of its functions.
  if (ports.size() == 1 && !interfaces.empty()) {
    interfaces.emplace(ports.front(), interfaces.begin()->second);
  }
  LinkState best, worst;
  for (const std::string& port : ports) {
    const auto interface = interfaces.find(port);
    if (interface == interfaces.end()) {
      TakeBetter(ReadPort(hca, port, ""), best);
      continue;
    }
    LinkState state = ReadPort(hca, port, interface->second);
    if (worst.kind == Kind::kNone || state.kind > worst.kind) worst = std::move(state);
  }
  if (worst.kind != Kind::kNone) return worst;
  if (best.kind != Kind::kNone) return best;
  return {Kind::kUnknown, fmt::format("the ports of {} cannot be read", function.hca)};
}

}  // namespace

std::optional<int> ParseState(std::string_view text) {
  return sysfs::Number<int>(Trim(text.substr(0, text.find(':'))));
}

LinkState ReadLink(const os::Root& root, const Function& function) {
  const std::string directory = root.Path(function.Directory());
  if (!function.hca.empty()) return ReadPorts(directory, function);
  LinkState best;
  for (const std::string& interface : function.interfaces) {
    const std::string here = fmt::format("{}/net/{}", directory, interface);
    if (os::Exists(here)) TakeBetter(ReadInterface(here), best);
  }
  return best;
}

std::optional<uint64_t> ParseFatal(std::string_view text) {
  constexpr std::string_view kTotal = "TOTAL_ERR_FATAL ";
  for (const std::string& line : Split(text, '\n')) {
    if (line.starts_with(kTotal)) return sysfs::Number<uint64_t>(Trim(line.substr(kTotal.size())));
  }
  return std::nullopt;
}

std::optional<uint64_t> ReadFatal(const sysfs::Directory& function) {
  return ParseFatal(function.Text("aer_dev_fatal"));
}

std::optional<uint64_t> ReadLinkDowned(const os::Root& root, const Function& function) {
  if (function.hca.empty()) return std::nullopt;
  const std::string ports =
      root.Path(fmt::format("{}/infiniband/{}/ports", function.Directory(), function.hca));
  std::optional<uint64_t> sum;
  for (const std::string& port : sysfs::Names(ports)) {
    const auto count = sysfs::Number<uint64_t>(
        sysfs::Text(fmt::format("{}/{}/counters/link_downed", ports, port)));
    if (count) sum = sum.value_or(0) + *count;
  }
  return sum;
}

uint64_t Growth::Look(const std::string& counter, std::optional<uint64_t> now) {
  if (!now) return 0;
  const MutexLock lock(mutex_);
  const auto [last, is_first] = last_.try_emplace(counter, *now);
  const uint64_t before = std::exchange(last->second, *now);
  return is_first || *now < before ? 0 : *now - before;
}

}  // namespace tessera::rdma
