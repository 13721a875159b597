// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/labels/vgpu.h"

#include <bitset>

namespace tessera::nvidia {
namespace {

constexpr size_t kStatus = 0x06;
constexpr unsigned kHasCapabilities = 0x10;
constexpr size_t kFirstCapability = 0x34;
constexpr unsigned kVendorSpecific = 0x09;
constexpr unsigned kNone = 0xff;  // read from an empty place

constexpr size_t kFirstRecord = 5;     // after id, next, length and "VF"
constexpr unsigned kDriverRecord = 0;  // other records are skipped
constexpr size_t kText = 10;           // length of a version and of a branch

unsigned ByteAt(std::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

std::string NameAt(std::string_view bytes, size_t at) {
  const std::string_view text = bytes.substr(at, kText);
  return std::string(text.substr(0, text.find('\0')));
}

}  // namespace

std::string_view VendorCapability(std::string_view config_space) {
  const std::string_view space = config_space.substr(0, kConfigSpace);
  if (space.size() < kConfigSpace || (ByteAt(space, kStatus) & kHasCapabilities) == 0) return {};
  std::bitset<kConfigSpace> seen;  // a broken chain may form a cycle
  for (size_t at = ByteAt(space, kFirstCapability); at != 0 && !seen[at];
       at = ByteAt(space, at + 1)) {
    seen.set(at);
    if (at + 2 >= space.size() || ByteAt(space, at) == kNone) return {};
    if (ByteAt(space, at) != kVendorSpecific) continue;
    const size_t length = ByteAt(space, at + 2);
    return at + length <= space.size() ? space.substr(at, length) : std::string_view();
  }
  return {};
}

bool IsVgpu(std::string_view capability) {
  return capability.size() >= kFirstRecord && capability.substr(3, 2) == "VF";
}

std::optional<HostDriver> HostDriverIn(std::string_view capability) {
  if (!IsVgpu(capability)) return std::nullopt;
  size_t at = kFirstRecord;
  while (at + 1 < capability.size() && ByteAt(capability, at) != kDriverRecord) {
    const size_t length = ByteAt(capability, at + 1);
    if (length == 0) return std::nullopt;
    at += length;
  }
  // An id, a length, and two texts.
  if (at + 2 + 2 * kText > capability.size()) return std::nullopt;
  return HostDriver{NameAt(capability, at + 2), NameAt(capability, at + 2 + kText)};
}

}  // namespace tessera::nvidia
