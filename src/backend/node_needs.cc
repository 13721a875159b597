// SPDX-License-Identifier: Apache-2.0
#include "backend/node_needs.h"

#include <fmt/core.h>

#include <algorithm>

namespace tessera {
namespace {

// sysfs writes a module's dashes as underscores.
bool IsLoaded(const os::Root& root, std::string module) {
  std::ranges::replace(module, '-', '_');
  return os::Exists(root.Path("/sys/module/" + module));
}

}  // namespace

std::vector<Error> MissingOn(const os::Root& root,
                             const std::optional<std::set<std::string>>& handlers,
                             std::span<const NodeNeed> needs) {
  std::vector<Error> missing;
  for (const NodeNeed& need : needs) {
    const bool is_module = need.what == NodeNeed::What::kModule;
    const bool there =
        is_module ? IsLoaded(root, need.name) : !handlers || handlers->contains(need.name);
    if (there) continue;
    missing.push_back(
        {Reason::kNodeLacks, fmt::format("{} {}: {}",
                                         is_module ? "the kernel has not loaded the module"
                                                   : "the container runtime has no handler",
                                         need.name, need.advice)});
  }
  return missing;
}

}  // namespace tessera
