// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/labels/pci_file.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace tessera::nvidia {
namespace {

constexpr uint64_t kPciVendor = 0x10de;

}  // namespace

std::string PciFile(const os::Root& root, std::string_view address, std::string_view name) {
  return root.Path(fmt::format("/sys/bus/pci/devices/{}/{}", address, name));
}

std::optional<uint64_t> HexNumber(std::string_view text) {
  std::string_view digits = Trim(text);
  if (!digits.starts_with("0x")) return std::nullopt;
  digits.remove_prefix(2);
  uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number, 16);
  return stop == end && error == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<uint64_t> ReadPciNumber(const os::Root& root, std::string_view address,
                                      std::string_view name) {
  const auto text = os::ReadFile(PciFile(root, address, name));
  return text ? HexNumber(*text) : std::nullopt;
}

std::vector<std::string> NvidiaAddresses(const os::Root& root) {
  std::vector<std::string> ours;
  const auto all = os::ListDirectory(root.Path("/sys/bus/pci/devices"));
  for (const std::string& address : all.value_or(std::vector<std::string>())) {
    if (ReadPciNumber(root, address, "vendor") == kPciVendor) ours.push_back(address);
  }
  return ours;
}

}  // namespace tessera::nvidia
