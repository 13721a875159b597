// SPDX-License-Identifier: Apache-2.0
// The table of every key of a configuration, for the given kinds of resources. Derived from it:
// reading, suggestions, flags, environment variables, `config print`, the JSON schema, and
// docs/reference/configuration.md. Immutable; any thread.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kind.h"
#include "config/schema/key.h"

namespace tessera::config {

inline constexpr std::string_view kVersion = "tessera/v1";

// A key and its full path, such as "resources[].dummy.count".
struct PathKey {
  std::string path;
  const Key* key;
};

class Schema {
 public:
  // `kinds` outlives it.
  explicit Schema(const Kinds& kinds);
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  const Kinds& kinds() const { return kinds_; }
  // A section without a name.
  const Key& root() const { return root_; }
  // Every key below the root, also sections and lists, in the table's order.
  const std::vector<PathKey>& keys() const;

  // The value of `text`, or why it is none.
  Parsed<Value> ParseValue(const Key& key, std::string_view text) const;
  // The text of a default value: "5s", "" for none.
  std::string DefaultText(const Key& key) const;

 private:
  const Kinds& kinds_;
  const Key root_;
  // Described at the first use, as a start does not need it to read its file.
  mutable std::once_flag described_;
  mutable std::vector<PathKey> keys_;
};

// The text that Schema::ParseValue reads as `value`. Items of a list are separated by ", ".
std::string ValueText(const Value& value);

// The keys with a flag and an environment variable: single values outside lists, independent of the
// kinds.
const std::vector<PathKey>& FlagKeys();
std::string FlagName(std::string_view path);  // "kubelet.socketPrefix" -> "kubelet-socket-prefix"
std::string EnvironmentName(std::string_view path);  // -> "TESSERA_KUBELET_SOCKET_PREFIX"

// "kubelet" and "root" -> "kubelet.root"; "" and "kubelet" -> "kubelet".
std::string JoinPath(std::string_view parent, std::string_view name);

}  // namespace tessera::config
