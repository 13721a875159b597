// SPDX-License-Identifier: Apache-2.0
// Keys of the fake NVML's YAML files: one that is mistyped would do nothing, and a test that relies
// on it would show nothing. Throws std::runtime_error. Any thread.
#pragma once

#include <yaml-cpp/yaml.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace tessera::nvml {

// Throws `message` with the line of the node before it, as far as it is known.
[[noreturn]] void Refuse(const YAML::Node& at, const std::string& message);

// Throws where the node is a map with a key that is none of these; `of` is what the map describes.
void CheckKeys(const YAML::Node& map, std::string_view of,
               std::initializer_list<std::string_view> known);

}  // namespace tessera::nvml
