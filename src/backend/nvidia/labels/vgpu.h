// SPDX-License-Identifier: Apache-2.0
// Virtual GPUs, as a guest knows them: by a capability in the PCI configuration space that the
// hypervisor's driver puts there, with that driver's version. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera::nvidia {

// So long is the part of a configuration space that capabilities are in. Whoever may not see all of
// it is given its first 64 bytes.
inline constexpr size_t kConfigSpace = 256;

// The vendor's own capability, from its id on; empty: there is none, or it does not lie within.
std::string_view VendorCapability(std::string_view config_space);

// Whether it is that of a virtual GPU.
bool IsVgpu(std::string_view capability);

// The driver of the host that a virtual GPU is of.
struct HostDriver {
  std::string version{};  // "550.90.05"
  std::string branch{};   // "r550_00"
  bool operator==(const HostDriver&) const = default;
};
// Nothing where the capability has no record of it.
std::optional<HostDriver> HostDriverIn(std::string_view capability);

}  // namespace tessera::nvidia
