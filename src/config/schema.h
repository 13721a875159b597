// SPDX-License-Identifier: Apache-2.0
// The one table of every key of a configuration, by the kinds that its resources may be of.
// Reading, suggestions for mistyped keys, flags, environment variables, `config print`, the JSON
// schema and the reference in docs/reference/configuration.md are all derived from it. Immutable;
// any thread.
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
  // Every key below the root, sections and lists as well, in the table's order.
  const std::vector<PathKey>& keys() const;

  // The value that `text` stands for, or why it is none.
  Parsed<Value> ParseValue(const Key& key, std::string_view text) const;
  // The value of a key that is not set, as text: "5s", "" for none.
  std::string DefaultText(const Key& key) const;

 private:
  const Kinds& kinds_;
  const Key root_;
  // Described when somebody first asks: a start reads its file without.
  mutable std::once_flag described_;
  mutable std::vector<PathKey> keys_;
};

// The text that Schema::ParseValue reads as `value`. Items of a list are parted by ", ".
std::string ValueText(const Value& value);

// Those of which flag and environment variable exist: single values outside lists, whatever kinds
// there are.
const std::vector<PathKey>& FlagKeys();
std::string FlagName(std::string_view path);  // "kubelet.socketPrefix" -> "kubelet-socket-prefix"
std::string EnvironmentName(std::string_view path);  // -> "TESSERA_KUBELET_SOCKET_PREFIX"

// "kubelet" and "root" -> "kubelet.root"; "" and "kubelet" -> "kubelet".
std::string JoinPath(std::string_view parent, std::string_view name);

}  // namespace tessera::config
