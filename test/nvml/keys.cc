// SPDX-License-Identifier: Apache-2.0
#include "nvml/keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

namespace tessera::nvml {

void Refuse(const YAML::Node& at, const std::string& message) {
  const int line = at.Mark().line;
  throw std::runtime_error(line < 0 ? message : fmt::format("line {}: {}", line + 1, message));
}

void CheckKeys(const YAML::Node& map, std::string_view of,
               std::initializer_list<std::string_view> known) {
  if (!map.IsDefined() || !map.IsMap()) return;
  for (const auto& item : map) {
    const auto key = item.first.as<std::string>();
    if (std::ranges::count(known, key) == 0) {
      Refuse(item.first, fmt::format("{} has no key \"{}\"", of, key));
    }
  }
}

}  // namespace tessera::nvml
