// SPDX-License-Identifier: Apache-2.0
// JSON in and out. The only folder that includes Boost.JSON's headers; others use these names.
// Any thread.
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

// kInvalid with the offset when the text is not one JSON value. Nesting is limited to kMaxDepth.
Result<Value> Parse(std::string_view text);
// Bytes in strings that are not UTF-8, such as a file's name may have, are written as U+FFFD: Parse
// reads what these write.
std::string Write(const Value& value);        // compact
std::string WritePretty(const Value& value);  // two spaces a level, ends with a newline

// Members of an object, or nothing when they are missing or of another type.
std::optional<std::string> GetString(const Object& object, std::string_view key);
std::optional<int64_t> GetInt(const Object& object, std::string_view key);
std::optional<bool> GetBool(const Object& object, std::string_view key);
const Array* GetArray(const Object& object, std::string_view key);
const Object* GetObject(const Object& object, std::string_view key);

}  // namespace tessera::json
