// SPDX-License-Identifier: Apache-2.0
// Devices that may not, or may only, be in one container together: what is left to choose from.
// Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "share/share.h"

namespace tessera {

// Ids that can be had together.
struct Narrowed {
  std::vector<std::string> included;   // those given, then those of bundles that are taken whole
  std::vector<std::string> available;  // of the rest, those that go alone and exclude nothing
};

// What a request of `size` ids may choose from: bundles of which something is included are
// completed, then further ones are taken as long as they fit; of devices that exclude each other
// those stay that take the least. Nothing where all devices go alone and exclude none.
std::optional<Narrowed> Narrow(const Offer& offer, std::span<const std::string> available,
                               std::span<const std::string> included, size_t size);

}  // namespace tessera
