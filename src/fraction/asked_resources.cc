// SPDX-License-Identifier: Apache-2.0
#include "fraction/asked_resources.h"

#include "hami/vendor.h"

namespace tessera {

std::set<std::string> ResourcesAskedFor(std::span<const config::Resource> resources) {
  std::set<std::string> names;
  for (const config::Resource& resource : resources) {
    const auto& fractions = resource.rendering.fractions;
    if (!fractions || !fractions->requests) continue;
    const FractionRequests& requests = *fractions->requests;
    names.insert(
        {resource.name, requests.memory_name, requests.percentage_name, requests.cores_name});
  }
  return names;
}

const VendorRow* VendorAskedFor(std::span<const config::Resource> resources) {
  for (const config::Resource& resource : resources) {
    const auto& fractions = resource.rendering.fractions;
    if (fractions && fractions->requests) return fractions->requests->vendor;
  }
  return &hami::kNvidia;
}

std::set<std::string> ResourcesToMatch(std::span<const config::Resource> resources) {
  std::set<std::string> names;
  for (const config::Resource& resource : resources) {
    if (NeedsMatch(resource.rendering)) names.insert(resource.name);
  }
  return names;
}

}  // namespace tessera
