// SPDX-License-Identifier: Apache-2.0
// Detects a virtual GPU from inside the guest. The hypervisor's driver adds a capability with its
// version to the PCI configuration space. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera::nvidia {

// The length of the part of a configuration space that has capabilities. An unprivileged reader
// gets only its first 64 bytes.
inline constexpr size_t kConfigSpace = 256;

// The vendor-specific capability, from its id on. Empty: there is none, or it is not fully inside.
std::string_view VendorCapability(std::string_view config_space);

// Whether the capability is a virtual GPU's.
bool IsVgpu(std::string_view capability);

// The host's driver behind a virtual GPU.
struct HostDriver {
  std::string version{};  // "550.90.05"
  std::string branch{};   // "r550_00"
  bool operator==(const HostDriver&) const = default;
};
// Null: the capability has no record of it.
std::optional<HostDriver> HostDriverIn(std::string_view capability);

}  // namespace tessera::nvidia
