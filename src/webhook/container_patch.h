// SPDX-License-Identifier: Apache-2.0
// What is added to a container of a new pod, as operations of a JSON patch. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "json/json.h"
#include "webhook/review.h"
#include "webhook/rules.h"

namespace tessera::webhook {

// "a/b~c" as a part of a JSON pointer (RFC 6901): "a~1b~0c".
std::string PointerPart(std::string_view name);
json::Value Add(std::string_view path, json::Value value);
json::Value AddText(std::string_view path, std::string_view text);

// How many devices, and how much of them, it asks for where it does not say it all.
void AddAmounts(const NewContainer& container, const DeviceRules& rules, json::Array& patch);
// What the library in it and its runtime are told. A variable that is there with another value gets
// ours, and is there once.
void AddVariables(const NewContainer& container, const DeviceRules& rules, json::Array& patch);

}  // namespace tessera::webhook
