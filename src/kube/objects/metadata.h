// SPDX-License-Identifier: Apache-2.0
// The labels and annotations of an object as the API server has it. Pure; plain data; any thread.
#pragma once

#include <map>
#include <string>

#include "json/json.h"

namespace tessera::kube {

struct Metadata {
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};
  // The version that these are of. A patch that names it is a conflict where a change came between.
  std::string resource_version{};
};

// Of a Node, say; what is of another shape is left out.
Metadata MetadataOf(const json::Value& object);

// What no other object of its kind has: "NAMESPACE/NAME", or "NAME" of what is in no namespace;
// empty where it has no name.
std::string ObjectKeyIn(const json::Value& object);
// Empty where it has none.
std::string UidIn(const json::Value& object);

}  // namespace tessera::kube
