// SPDX-License-Identifier: Apache-2.0
#include "kube/metadata_patch.h"

#include <utility>

namespace tessera::kube {
namespace {

void Put(const MetadataPatch::Changes& changes, const char* key, json::Object& metadata) {
  if (changes.empty()) return;
  json::Object object;
  for (const auto& [name, value] : changes) {
    object[name] = value ? json::Value(*value) : json::Value(nullptr);
  }
  metadata[key] = std::move(object);
}

}  // namespace

json::Object MetadataPatch::Json() const {
  json::Object metadata;
  if (!uid.empty()) metadata["uid"] = uid;
  if (!resource_version.empty()) metadata["resourceVersion"] = resource_version;
  Put(labels, "labels", metadata);
  Put(annotations, "annotations", metadata);
  return json::Object{{"metadata", std::move(metadata)}};
}

}  // namespace tessera::kube
