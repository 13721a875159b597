// SPDX-License-Identifier: Apache-2.0
#include "hami/members.h"

#include <limits>

namespace tessera::hami {
namespace {

// Null if the member is missing or null.
const json::Value* MemberOf(const json::Object& object, std::string_view key) {
  const json::Value* value = object.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

template <class Number>
Status ReadNumber(const json::Object& object, std::string_view key, Number& number) {
  if (MemberOf(object, key) == nullptr) return {};
  constexpr auto kLeast = static_cast<int64_t>(std::numeric_limits<Number>::min());
  constexpr auto kMost = static_cast<int64_t>(std::numeric_limits<Number>::max());
  const auto read = json::GetInt(object, key);
  if (!read) return Fail(Reason::kInvalid, "{} is not a whole number", key);
  if (*read < kLeast || *read > kMost) {
    return Fail(Reason::kInvalid, "{} is {}, not between {} and {}", key, *read, kLeast, kMost);
  }
  number = static_cast<Number>(*read);
  return {};
}

}  // namespace

Status ReadMember(const json::Object& object, std::string_view key, std::string& text) {
  const json::Value* value = MemberOf(object, key);
  if (value == nullptr) return {};
  if (!value->is_string()) return Fail(Reason::kInvalid, "{} is not a string", key);
  text.assign(value->get_string());
  return {};
}

Status ReadMember(const json::Object& object, std::string_view key, bool& flag) {
  const json::Value* value = MemberOf(object, key);
  if (value == nullptr) return {};
  if (!value->is_bool()) return Fail(Reason::kInvalid, "{} is not true or false", key);
  flag = value->get_bool();
  return {};
}

Status ReadMember(const json::Object& object, std::string_view key, int32_t& number) {
  return ReadNumber(object, key, number);
}

Status ReadMember(const json::Object& object, std::string_view key, uint32_t& number) {
  return ReadNumber(object, key, number);
}

Status ReadMember(const json::Object& object, std::string_view key, int64_t& number) {
  return ReadNumber(object, key, number);
}

Result<const json::Object*> AsObject(const json::Value& value) {
  const json::Object* object = value.if_object();
  if (object == nullptr) return Fail(Reason::kInvalid, "not an object");
  return object;
}

}  // namespace tessera::hami
