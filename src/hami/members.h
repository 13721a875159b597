// SPDX-License-Identifier: Apache-2.0
// Members of a JSON object as Go reads them into a struct: one that is missing or null leaves what
// is there, one of another type or beyond the range is kInvalid. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "json/json.h"

namespace tessera::hami {

Status ReadMember(const json::Object& object, std::string_view key, std::string& text);
Status ReadMember(const json::Object& object, std::string_view key, bool& flag);
Status ReadMember(const json::Object& object, std::string_view key, int32_t& number);
Status ReadMember(const json::Object& object, std::string_view key, uint32_t& number);
Status ReadMember(const json::Object& object, std::string_view key, int64_t& number);

// The object that a value is.
Result<const json::Object*> AsObject(const json::Value& value);
// A list of what `read` makes of each element; the error says which one it is about.
template <class Item>
Status ReadList(const json::Value& value, std::string_view noun,
                Result<Item> (*read)(const json::Value&), std::vector<Item>& items) {
  if (value.is_null()) return {};
  const json::Array* array = value.if_array();
  if (array == nullptr) return Fail(Reason::kInvalid, "{}s are not a list", noun);
  items.reserve(array->size());
  for (const json::Value& element : *array) {
    auto item = read(element);
    if (!item) return Fail(item.error().In(fmt::format("{} {}", noun, items.size())));
    items.push_back(*std::move(item));
  }
  return {};
}

}  // namespace tessera::hami
