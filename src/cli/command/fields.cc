// SPDX-License-Identifier: Apache-2.0
#include "cli/command/fields.h"

namespace tessera::cli {
namespace {

std::string ScalarText(const json::Value& value) {
  if (value.is_string()) return std::string(std::string_view(value.as_string()));
  if (value.is_null() || value.is_object() || value.is_array()) return "";
  return json::Write(value);
}

}  // namespace

const json::Object& ObjectOf(const json::Value& value) {
  static const json::Object kEmpty;
  return value.is_object() ? value.as_object() : kEmpty;
}

std::vector<const json::Object*> ObjectsIn(const json::Object& object, std::string_view key) {
  std::vector<const json::Object*> objects;
  const json::Array* list = json::GetArray(object, key);
  if (list == nullptr) return objects;
  for (const json::Value& item : *list) {
    if (item.is_object()) objects.push_back(&item.as_object());
  }
  return objects;
}

std::vector<std::string> ListIn(const json::Object& object, std::string_view key) {
  std::vector<std::string> texts;
  const json::Array* list = json::GetArray(object, key);
  if (list == nullptr) return texts;
  for (const json::Value& item : *list) texts.push_back(ScalarText(item));
  return texts;
}

std::string TextIn(const json::Object& object, std::string_view key) {
  const json::Value* value = object.if_contains(key);
  return value == nullptr ? "" : ScalarText(*value);
}

bool IsTrue(const json::Object& object, std::string_view key) {
  return json::GetBool(object, key).value_or(false);
}

std::string DeviceName(const json::Object& device) {
  return TextIn(device, "source") + "/" + TextIn(device, "id");
}

std::string PodName(const json::Object& holder) {
  std::string pod = TextIn(holder, "pod");
  return pod.empty() ? "pod " + TextIn(holder, "uid") : TextIn(holder, "namespace") + "/" + pod;
}

}  // namespace tessera::cli
