// SPDX-License-Identifier: Apache-2.0
// Parses and writes JSON. Only this folder includes Boost.JSON; others use these names. Any thread.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::json {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

inline constexpr size_t kMaxDepth = 32;

// kInvalid, with the offset, if the text is not one JSON value. Nesting is limited to kMaxDepth.
Result<Value> Parse(std::string_view text);
// Invalid UTF-8 in strings, for example from a file name, is written as U+FFFD, so Parse always
// accepts the result.
std::string Write(const Value& value);        // compact
std::string WritePretty(const Value& value);  // indents by two spaces, ends with a newline

// A member of an object, or nothing if it is missing or has another type.
std::optional<std::string> GetString(const Object& object, std::string_view key);
std::optional<int64_t> GetInt(const Object& object, std::string_view key);
std::optional<bool> GetBool(const Object& object, std::string_view key);
const Array* GetArray(const Object& object, std::string_view key);
const Object* GetObject(const Object& object, std::string_view key);

}  // namespace tessera::json
