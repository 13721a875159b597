// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/metadata.h"

#include <string_view>

namespace tessera::kube {
namespace {

std::map<std::string, std::string> KnownTexts(const json::Object& metadata, std::string_view key) {
  std::map<std::string, std::string> texts;
  const json::Object* object = json::GetObject(metadata, key);
  if (object == nullptr) return texts;
  for (const auto& item : *object) {
    if (item.value().is_string()) texts.emplace(item.key(), item.value().get_string());
  }
  return texts;
}

}  // namespace

Metadata MetadataOf(const json::Value& object) {
  const json::Object* whole = object.if_object();
  const json::Object* metadata = whole == nullptr ? nullptr : json::GetObject(*whole, "metadata");
  if (metadata == nullptr) return {};
  return {.labels = KnownTexts(*metadata, "labels"),
          .annotations = KnownTexts(*metadata, "annotations"),
          .resource_version = json::GetString(*metadata, "resourceVersion").value_or("")};
}

}  // namespace tessera::kube
