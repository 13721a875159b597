// SPDX-License-Identifier: Apache-2.0
#include "backend/pci_function.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/sysfs.h"
#include "base/text.h"

namespace tessera {
namespace {

std::string TargetOf(const std::string& link) {
  const auto target = os::ReadLink(link);
  return target ? std::string(FileName(*target)) : "";
}

// By the kernel's number for the hardware's type of an interface (linux/if_arp.h).
std::string LinkTypeOf(const std::string& function) {
  auto interfaces = os::ListDirectory(function + "/net");
  if (!interfaces || interfaces->empty()) return "";
  std::ranges::sort(*interfaces);
  const std::string type =
      sysfs::Text(fmt::format("{}/net/{}/type", function, interfaces->front()));
  if (type == "1") return "ether";
  return type == "32" ? "infiniband" : "";
}

bool Fits(const std::vector<std::string>& wanted, const std::string& value) {
  return wanted.empty() || std::ranges::count(wanted, value) > 0;
}

}  // namespace

PciFunction ReadPciFunction(const os::Root& root, std::string_view address) {
  const std::string function = root.Path(fmt::format("/sys/bus/pci/devices/{}", address));
  return {.vendor = sysfs::HexText(function + "/vendor"),
          .device = sysfs::HexText(function + "/device"),
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
