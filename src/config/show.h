// SPDX-License-Identifier: Apache-2.0
// A Config as a tree of its keys and values, for everything that goes through all of them:
// printing, listing, comparing. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/schema.h"

namespace tessera::config {

// One key of the table with its value. The items of a list are sections whose key is the list's.
struct Shown {
  const Key* key = nullptr;
  std::string path{};  // "resources[0].dummy.count"
  bool is_item = false;
  Value value{};  // of a scalar
  std::vector<Shown> children{};
};

// The root. Kinds that a resource is not of, and short forms, are left out.
Shown Show(const Schema& schema, const Config& config);

// Calls `visit` for every scalar below, in order.
void ForEachValue(const Shown& shown, const std::function<void(const Shown&)>& visit);

}  // namespace tessera::config
