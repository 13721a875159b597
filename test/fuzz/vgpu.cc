// SPDX-License-Identifier: Apache-2.0
// The capability of a virtual GPU in a PCI configuration space.

#include "backend/nvidia/labels/vgpu.h"

#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view space = tessera::fuzz::Text(data, size);
  const std::string_view capability = tessera::nvidia::VendorCapability(space);
  Require(capability.empty() || (capability.data() >= space.data() &&
                                 capability.data() + capability.size() <=
                                     space.data() + tessera::nvidia::kConfigSpace),
          "a capability lies within the space");
  for (const std::string_view bytes : {capability, space}) {
    const auto driver = tessera::nvidia::HostDriverIn(bytes);
    if (!driver) continue;
    Require(tessera::nvidia::IsVgpu(bytes), "only a virtual GPU has a host");
    Require(driver->version.size() <= 10 && driver->branch.size() <= 10, "texts have their length");
  }
  return 0;
}
