// SPDX-License-Identifier: Apache-2.0
// Members of an object as Kubernetes has them, where what is left out, or null, is empty. An error
// names the member. Pure; any thread.
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
// Which of an object's members are kept; empty: none.
using Which = std::function<bool(std::string_view name)>;

// A scheduler's annotations take some 60 bytes for each GPU of each container. A longer one is not
// read.
inline constexpr size_t kLongestAnnotation = 32 << 10;

// Null where it is no object that has metadata.
const json::Object* MetadataIn(const json::Value& object);
// Null where it is missing, or null.
const json::Value* Member(const json::Object& object, std::string_view key);
Result<std::string> TextIn(const json::Object& object, std::string_view key);
// kInvalid where it is empty.
Result<std::string> NeededTextIn(const json::Object& object, std::string_view key);
Result<bool> FlagIn(const json::Object& object, std::string_view key);
Result<const json::Object*> ObjectIn(const json::Object& object, std::string_view key);
// The objects of a list.
Result<std::vector<const json::Object*>> ObjectsIn(const json::Object& object,
                                                   std::string_view key);
// Texts by name, of a shape of kLongestAnnotation; a longer one is left out and said in `excess`.
Result<Texts> TextsIn(const json::Object& object, std::string_view key, const Which& which,
                      std::string& excess);

// About the memory that they take, with what the standard library does for it.
size_t CostOf(const Texts& texts);

}  // namespace tessera::kube
