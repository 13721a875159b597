// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/metadata.h"

#include <string_view>

#include "kube/objects/members.h"

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
  const json::Object* metadata = MetadataIn(object);
  if (metadata == nullptr) return {};
  return {.labels = KnownTexts(*metadata, "labels"),
          .annotations = KnownTexts(*metadata, "annotations"),
          .resource_version = json::GetString(*metadata, "resourceVersion").value_or("")};
}

std::string ObjectKeyIn(const json::Value& object) {
  const json::Object* metadata = MetadataIn(object);
  const auto name = metadata == nullptr ? std::nullopt : json::GetString(*metadata, "name");
  if (!name) return "";
  const std::string in = json::GetString(*metadata, "namespace").value_or("");
  return in.empty() ? *name : in + "/" + *name;
}

std::string UidIn(const json::Value& object) {
  const json::Object* metadata = MetadataIn(object);
  return metadata == nullptr ? "" : json::GetString(*metadata, "uid").value_or("");
}

}  // namespace tessera::kube
