// SPDX-License-Identifier: Apache-2.0
// Members of the agent's documents as text. A missing member is empty, so that the rest of a newer
// or older agent's document is still shown. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace tessera::cli {

// The value as an object; empty: it is another type.
const json::Object& ObjectOf(const json::Value& value);
// The objects in the list `key`.
std::vector<const json::Object*> ObjectsIn(const json::Object& object, std::string_view key);
// The texts or numbers in the list `key`.
std::vector<std::string> ListIn(const json::Object& object, std::string_view key);
// A text, number or truth value.
std::string TextIn(const json::Object& object, std::string_view key);
bool IsTrue(const json::Object& object, std::string_view key);

// "dummy.com/npu/7".
std::string DeviceName(const json::Object& device);
// "default/train-0", or "pod UID" if only that is known.
std::string PodName(const json::Object& holder);

}  // namespace tessera::cli
