// SPDX-License-Identifier: Apache-2.0
// As much of TOML as it takes to find keys in the configuration of a container runtime. Tables that
// are written in one line, keys with dots and strings of several lines are not looked into. Pure;
// any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::agent {

// "key = value" below a header. An array of several lines is one value.
struct TomlEntry {
  std::string table{};  // "plugins.'io.containerd.cri.v1.runtime'", as written; empty: at the top
  std::string key{};
  std::string value{};  // as written, without comments
  bool operator==(const TomlEntry&) const = default;
};

std::vector<TomlEntry> TomlEntries(std::string_view text);

// The strings of an array of them; escapes stay as they are.
std::vector<std::string> TomlStrings(std::string_view array);

}  // namespace tessera::agent
