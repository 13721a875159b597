// SPDX-License-Identifier: Apache-2.0
// An object's labels and annotations. Pure. Plain data. Any thread.
#pragma once

#include <map>
#include <string>

#include "json/json.h"

namespace tessera::kube {

struct Metadata {
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};
  // The version of this state. A patch that names it fails with a conflict if the object has
  // changed.
  std::string resource_version{};
};

// Members of the wrong type are omitted.
Metadata MetadataOf(const json::Value& object);

// The object's unique key within its kind: "NAMESPACE/NAME", or "NAME" without a namespace. Empty
// if it has no name.
std::string ObjectKeyIn(const json::Value& object);
// Empty if it has none.
std::string UidIn(const json::Value& object);

}  // namespace tessera::kube
