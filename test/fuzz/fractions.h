// SPDX-License-Identifier: Apache-2.0
// Numbers with a fraction in a JSON value. The library rounds them when it reads, and otherwise
// when they come in pieces. The product reads none. Pure; any thread.
#pragma once

#include <algorithm>

#include "json/json.h"

namespace tessera::fuzz {

inline bool HasFractions(const json::Value& value) {
  if (const json::Array* array = value.if_array()) {
    return std::any_of(array->begin(), array->end(), HasFractions);
  }
  if (const json::Object* object = value.if_object()) {
    return std::any_of(object->begin(), object->end(),
                       [](const auto& member) { return HasFractions(member.value()); });
  }
  return value.is_double();
}

}  // namespace tessera::fuzz
