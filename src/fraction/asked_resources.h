// SPDX-License-Identifier: Apache-2.0
// The configured resources that pods ask for in sizes of their own. Pure; any thread.
#pragma once

#include <set>
#include <span>
#include <string>

#include "config/schema/config.h"

namespace tessera {

// The names that count GPUs, and the names of memory and cores that go with them.
std::set<std::string> ResourcesAskedFor(std::span<const config::Resource> resources);
// Of these, the names that count GPUs and need a match in Allocate, because the runtime reads no
// CDI.
std::set<std::string> ResourcesToMatch(std::span<const config::Resource> resources);

// The vendor of devices whose fractions pods ask for; NVIDIA without any. All are of one vendor.
const VendorRow* VendorAskedFor(std::span<const config::Resource> resources);

}  // namespace tessera
