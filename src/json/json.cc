// SPDX-License-Identifier: Apache-2.0
#include "json/json.h"

#include <fmt/core.h>

#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <limits>

#include "base/quote.h"

namespace tessera::json {
namespace {

void WriteIndented(const Value& value, std::string& out, size_t depth);

void NewLine(std::string& out, size_t depth) {
  out += '\n';
  out.append(depth * 2, ' ');
}

void WriteMembers(const Object& object, std::string& out, size_t depth) {
  bool first = true;
  for (const auto& member : object) {
    if (!first) out += ',';
    first = false;
    NewLine(out, depth + 1);
    out += JsonAsYaml(boost::json::serialize(member.key()));
    out += ": ";
    WriteIndented(member.value(), out, depth + 1);
  }
}

void WriteElements(const Array& array, std::string& out, size_t depth) {
  bool first = true;
  for (const Value& element : array) {
    if (!first) out += ',';
    first = false;
    NewLine(out, depth + 1);
    WriteIndented(element, out, depth + 1);
  }
}

void WriteIndented(const Value& value, std::string& out, size_t depth) {
  const Object* object = value.if_object();
  const Array* array = value.if_array();
  if (object != nullptr && !object->empty()) {
    out += '{';
    WriteMembers(*object, out, depth);
    NewLine(out, depth);
    out += '}';
  } else if (array != nullptr && !array->empty()) {
    out += '[';
    WriteElements(*array, out, depth);
    NewLine(out, depth);
    out += ']';
  } else if (const double* number = value.if_double(); number && std::isfinite(*number)) {
    out += fmt::format("{}", *number);  // "1.8", not "1.8E0"
  } else {
    out += Write(value);
  }
}

}  // namespace

Result<Value> Parse(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::json::parser parser({}, options);
  boost::json::error_code error;
  const size_t read = parser.write_some(text.data(), text.size(), error);
  if (error) return Fail(Reason::kInvalid, "JSON, offset {}: {}", read, error.message());
  if (read < text.size()) return Fail(Reason::kInvalid, "JSON, offset {}: extra data", read);
  return parser.release();
}

std::string Write(const Value& value) {
  return JsonAsYaml(boost::json::serialize(value));
}

std::string WritePretty(const Value& value) {
  std::string out;
  WriteIndented(value, out, 0);
  out += '\n';
  return out;
}

std::optional<std::string> GetString(const Object& object, std::string_view key) {
  const Value* value = object.if_contains(key);
  const boost::json::string* text = value == nullptr ? nullptr : value->if_string();
  if (text == nullptr) return std::nullopt;
  return std::string(text->data(), text->size());
}

std::optional<int64_t> GetInt(const Object& object, std::string_view key) {
  const Value* value = object.if_contains(key);
  if (value == nullptr) return std::nullopt;
  if (const int64_t* number = value->if_int64()) return *number;
  const uint64_t* number = value->if_uint64();
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (number == nullptr || *number > kMax) return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::optional<bool> GetBool(const Object& object, std::string_view key) {
  const Value* value = object.if_contains(key);
  const bool* flag = value == nullptr ? nullptr : value->if_bool();
  if (flag == nullptr) return std::nullopt;
  return *flag;
}

const Array* GetArray(const Object& object, std::string_view key) {
  const Value* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_array();
}

const Object* GetObject(const Object& object, std::string_view key) {
  const Value* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

}  // namespace tessera::json
