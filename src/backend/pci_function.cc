// SPDX-License-Identifier: Apache-2.0
#include "backend/pci_function.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace tessera {
namespace {

constexpr size_t kLongest = 64;  // what such a file has is a number

std::string TextOf(const std::string& path) {
  const auto text = os::ReadFile(path, kLongest);
  return text ? std::string(Trim(*text)) : "";
}

// "0x15b3" -> "15b3".
std::string IdOf(const std::string& path) {
  const std::string text = TextOf(path);
  return text.starts_with("0x") ? text.substr(2) : "";
}

std::string TargetOf(const std::string& link) {
  const auto target = os::ReadLink(link);
  return target ? std::string(FileName(*target)) : "";
}

// By the kernel's number for the hardware's type of an interface (linux/if_arp.h).
std::string LinkTypeOf(const std::string& function) {
  auto interfaces = os::ListDirectory(function + "/net");
  if (!interfaces || interfaces->empty()) return "";
  std::ranges::sort(*interfaces);
  const std::string type = TextOf(fmt::format("{}/net/{}/type", function, interfaces->front()));
  if (type == "1") return "ether";
  return type == "32" ? "infiniband" : "";
}

bool Fits(const std::vector<std::string>& wanted, const std::string& value) {
  return wanted.empty() || std::ranges::count(wanted, value) > 0;
}

}  // namespace

PciFunction ReadPciFunction(const os::Root& root, std::string_view address) {
  const std::string function = root.Path(fmt::format("/sys/bus/pci/devices/{}", address));
  return {.vendor = IdOf(function + "/vendor"),
          .device = IdOf(function + "/device"),
          .driver = TargetOf(function + "/driver"),
          .physical_function = TargetOf(function + "/physfn"),
          .link_type = LinkTypeOf(function)};
}

bool Selects(const PciSelector& selector, const PciFunction& function) {
  return Fits(selector.vendors, function.vendor) && Fits(selector.devices, function.device) &&
         Fits(selector.drivers, function.driver) &&
         Fits(selector.physical_functions, function.physical_function) &&
         Fits(selector.link_types, function.link_type);
}

}  // namespace tessera
