// SPDX-License-Identifier: Apache-2.0
// A test's own environment, which replaces the process's.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "kube/access.h"

namespace tessera {

using Variables = std::map<std::string, std::string>;

// `variables` outlive it, and may change.
inline kube::Environment EnvironmentOf(const Variables& variables) {
  return [&variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

}  // namespace tessera
