// SPDX-License-Identifier: Apache-2.0
// Reads members of Kubernetes objects. A missing or null member is empty. An error names the
// member. Pure. Any thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json.h"

namespace tessera::kube {

using Texts = std::map<std::string, std::string, std::less<>>;
// Selects members to keep. Empty: none.
using Which = std::function<bool(std::string_view name)>;

// A scheduler's annotation takes some 60 bytes for each GPU of each container. A longer annotation
// is not read.
inline constexpr size_t kLongestAnnotation = 32 << 10;

// Null if the value has no metadata.
const json::Object* MetadataIn(const json::Value& object);
// Null if the member is missing or null.
const json::Value* Member(const json::Object& object, std::string_view key);
Result<std::string> TextIn(const json::Object& object, std::string_view key);
// kInvalid if it is empty.
Result<std::string> NeededTextIn(const json::Object& object, std::string_view key);
Result<bool> FlagIn(const json::Object& object, std::string_view key);
Result<const json::Object*> ObjectIn(const json::Object& object, std::string_view key);
// The members of a list, which must be objects.
Result<std::vector<const json::Object*>> ObjectsIn(const json::Object& object,
                                                   std::string_view key);
// Texts by name. A text above kLongestAnnotation is omitted and described in `excess`.
Result<Texts> TextsIn(const json::Object& object, std::string_view key, const Which& which,
                      std::string& excess);

// Approximate memory in bytes, including the container's overhead.
size_t CostOf(const Texts& texts);

}  // namespace tessera::kube
