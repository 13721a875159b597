// SPDX-License-Identifier: Apache-2.0
// A Config as a tree of keys and values, for code that visits all of them: print, list, compare.
// Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/schema.h"

namespace tessera::config {

// One key with its value. A list's items are sections with the list's key.
struct Shown {
  const Key* key = nullptr;
  std::string path{};  // "resources[0].dummy.count"
  bool is_item = false;
  Value value{};  // a scalar has one
  std::vector<Shown> children{};
};

// The root. It lacks the kinds that a resource does not have, and short forms.
Shown Show(const Schema& schema, const Config& config);

// Calls `visit` for every scalar below, in order.
void ForEachValue(const Shown& shown, const std::function<void(const Shown&)>& visit);

}  // namespace tessera::config
