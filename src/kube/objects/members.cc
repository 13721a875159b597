// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/members.h"

#include "base/quote.h"
#include "json/reader.h"

namespace tessera::kube {

const json::Object* MetadataIn(const json::Value& object) {
  const json::Object* whole = object.if_object();
  return whole == nullptr ? nullptr : json::GetObject(*whole, "metadata");
}

const json::Value* Member(const json::Object& object, std::string_view key) {
  const json::Value* value = object.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<std::string> TextIn(const json::Object& object, std::string_view key) {
  const json::Value* value = Member(object, key);
  if (value == nullptr) return "";
  if (!value->is_string()) return Fail(Reason::kInvalid, "{} is not a string", Brief(key));
  return std::string(value->get_string());
}

Result<std::string> NeededTextIn(const json::Object& object, std::string_view key) {
  std::string text = TRY(TextIn(object, key));
  if (text.empty()) return Fail(Reason::kInvalid, "{} is missing", key);
  return text;
}

Result<bool> FlagIn(const json::Object& object, std::string_view key) {
  const json::Value* value = Member(object, key);
  if (value == nullptr) return false;
  if (!value->is_bool()) return Fail(Reason::kInvalid, "{} is not true or false", key);
  return value->get_bool();
}

Result<const json::Object*> ObjectIn(const json::Object& object, std::string_view key) {
  static const json::Object none;
  const json::Value* value = Member(object, key);
  if (value == nullptr) return &none;
  if (!value->is_object()) return Fail(Reason::kInvalid, "{} is not an object", key);
  return &value->get_object();
}

Result<std::vector<const json::Object*>> ObjectsIn(const json::Object& object,
                                                   std::string_view key) {
  std::vector<const json::Object*> found;
  const json::Value* value = Member(object, key);
  if (value == nullptr) return found;
  if (!value->is_array()) return Fail(Reason::kInvalid, "{} is not a list", key);
  for (const json::Value& item : value->get_array()) {
    if (!item.is_object()) {
      return Fail(Reason::kInvalid, "{}[{}] is not an object", key, found.size());
    }
    found.push_back(&item.get_object());
  }
  return found;
}

Result<Texts> TextsIn(const json::Object& object, std::string_view key, const Which& which,
                      std::string& excess) {
  Texts texts;
  for (const auto& item : *TRY(ObjectIn(object, key))) {
    if (!which || !which(item.key())) continue;
    const int64_t* length = item.value().if_int64();
    if (length != nullptr && *length > static_cast<int64_t>(json::Shape::kLongest)) {
      excess = fmt::format("{}: {} has {} bytes, at most {} are read", key, Brief(item.key()),
                           *length, kLongestAnnotation);
      continue;
    }
    if (!item.value().is_string()) {
      return Fail(Reason::kInvalid, "{}: {} is not a string", key, Brief(item.key()));
    }
    texts.emplace(item.key(), item.value().get_string());
  }
  return texts;
}

size_t CostOf(const Texts& texts) {
  constexpr size_t kEntry = 160;
  size_t bytes = 0;
  for (const auto& [key, value] : texts) bytes += kEntry + key.size() + value.size();
  return bytes;
}

}  // namespace tessera::kube
