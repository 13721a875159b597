// SPDX-License-Identifier: Apache-2.0
// The one table of every key of the configuration. Reading, suggestions for mistyped keys, flags,
// environment variables, `config print`, the JSON schema and the reference in
// docs/configuration.md are all derived from it. Immutable; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/schema/key.h"

namespace tessera::config {

inline constexpr std::string_view kVersion = "tessera/v1";

// The root: a section without a name.
const Key& Schema();

// The value that `text` stands for, or why it is none.
Parsed<Value> ParseValue(const Key& key, std::string_view text);
// The other way: the text that ParseValue reads as `value`. Items of a list are parted by ", ".
std::string ValueText(const Value& value);

// The value of a key that is not set, as text: "5s", "" for none.
std::string DefaultText(const Key& key);

// A key and its full path, such as "resources[].dummy.count".
struct PathKey {
  std::string path;
  const Key* key;
};
// Every key below the root, sections and lists as well, in the table's order.
const std::vector<PathKey>& AllKeys();

// Whether flag and environment variable exist: for single values outside lists.
bool HasFlag(const PathKey& key);
std::string FlagName(std::string_view path);  // "kubelet.socketPrefix" -> "kubelet-socket-prefix"
std::string EnvironmentName(std::string_view path);  // -> "TESSERA_KUBELET_SOCKET_PREFIX"

// "kubelet" and "root" -> "kubelet.root"; "" and "kubelet" -> "kubelet".
std::string JoinPath(std::string_view parent, std::string_view name);

}  // namespace tessera::config
