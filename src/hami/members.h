// SPDX-License-Identifier: Apache-2.0
// Reads members of a JSON object as Go reads them into a struct. A missing or null member leaves
// the field unchanged. A member of another type or out of range is kInvalid. Pure; any thread.
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

// The value as an object; kInvalid if it is none.
Result<const json::Object*> AsObject(const json::Value& value);
// Applies `read` to each element; the error names the element.
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
