// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/secret.h"

#include "base/base64.h"
#include "base/quote.h"
#include "kube/objects/metadata.h"

namespace tessera::kube {
namespace {

// An API server limits a Secret's data to 1 MiB, and base64 adds a third.
constexpr size_t kMostOfSecret = size_t{3} << 20;
constexpr size_t kLongestData = size_t{256} << 10;
// The limit of all annotations of an object. `kubectl apply` keeps the applied object in one of
// them.
constexpr size_t kLongestOfSecret = size_t{256} << 10;

Status CheckTexts(const json::Object& object, std::string_view key) {
  for (const auto& item : *TRY(ObjectIn(object, key))) {
    if (item.value().is_string()) continue;
    return Fail(Reason::kInvalid, "{}: {} is not a string, or too long", key, Brief(item.key()));
  }
  return {};
}

Result<Texts> DataIn(const json::Object& object) {
  TRY(CheckTexts(object, "data"));
  Texts data;
  for (const auto& item : *TRY(ObjectIn(object, "data"))) {
    auto bytes = DecodeBase64(item.value().get_string());
    if (!bytes) return Fail(Reason::kInvalid, "data: {} is not base64", Brief(item.key()));
    data.emplace(item.key(), *std::move(bytes));
  }
  return data;
}

Result<Secret> ReadSecretParts(const json::Object& object) {
  if (object.contains(json::kCut)) {
    return Fail(Reason::kInvalid, "its fields that are read have more than {} MiB",
                kMostOfSecret >> 20);
  }
  Secret secret;
  secret.metadata = *TRY(ObjectIn(object, "metadata"));
  secret.secret_namespace = TRY_IN(NeededTextIn(secret.metadata, "namespace"), "metadata");
  secret.name = TRY_IN(NeededTextIn(secret.metadata, "name"), "metadata");
  TRY_IN(NeededTextIn(secret.metadata, "resourceVersion"), "metadata");
  TRY_IN(CheckTexts(secret.metadata, "labels"), "metadata");
  TRY_IN(CheckTexts(secret.metadata, "annotations"), "metadata");
  // An immutable Secret cannot be updated; report that before a write fails.
  if (TRY(FlagIn(object, "immutable"))) return Fail(Reason::kInvalid, "it is immutable");
  secret.type = TRY(TextIn(object, "type"));
  secret.data = TRY(DataIn(object));
  return secret;
}

}  // namespace

Form SecretForm() {
  using json::Shape;
  const auto all = [](std::string_view) { return true; };
  const Shape text = Shape::Scalar();
  return {.shape = Shape::Object(
              {{"metadata",
                Shape::Object({{"name", text},
                               {"namespace", text},
                               {"uid", text},
                               {"resourceVersion", text},
                               {"labels", Shape::Map(all, text)},
                               {"annotations", Shape::Map(all, Shape::Scalar(kLongestOfSecret))},
                               {"ownerReferences", Shape::List(Shape::Map(all, text))},
                               {"finalizers", Shape::List(text)}})},
               {"type", text},
               {"immutable", text},
               {"data", Shape::Map(all, Shape::Scalar(kLongestData))}}),
          .most = kMostOfSecret};
}

Result<Secret> ReadSecret(const json::Value& object) {
  if (!object.is_object()) return Fail(Reason::kInvalid, "a Secret is not an object");
  return TRY_IN(ReadSecretParts(object.get_object()), "Secret " + Brief(ObjectKeyIn(object)));
}

json::Value SecretJson(const Secret& secret) {
  json::Object metadata = secret.metadata;
  metadata["name"] = secret.name;
  metadata["namespace"] = secret.secret_namespace;
  json::Object data;
  for (const auto& [key, bytes] : secret.data) data[key] = EncodeBase64(bytes);
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Secret"},
                      {"metadata", std::move(metadata)},
                      {"type", secret.type},
                      {"data", std::move(data)}};
}

}  // namespace tessera::kube
