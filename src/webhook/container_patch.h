// SPDX-License-Identifier: Apache-2.0
// The JSON patch operations for one container of a new pod. Pure. Any thread.
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

// Adds the amounts of devices, memory and cores that the container leaves out.
void AddAmounts(const NewContainer& container, const DeviceRules& rules, json::Array& patch);
// Adds the variables for the limiter and the container runtime. A variable that exists gets our
// value and is listed once.
void AddVariables(const NewContainer& container, const DeviceRules& rules, json::Array& patch);

}  // namespace tessera::webhook
