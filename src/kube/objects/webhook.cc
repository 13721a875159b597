// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/webhook.h"

#include <string>
#include <utility>

#include "base/base64.h"
#include "kube/objects/members.h"

namespace tessera::kube {
namespace {

constexpr size_t kMostOfWebhooks = size_t{1} << 20;
constexpr size_t kLongestBundle = size_t{64} << 10;  // a longer bundle is not ours

}  // namespace

Form WebhookForm() {
  using json::Shape;
  const Shape text = Shape::Scalar();
  return {
      .shape = Shape::Object(
          {{"metadata", Shape::Object({{"name", text}, {"resourceVersion", text}})},
           {"webhooks", Shape::List(Shape::Object(
                            {{"name", text},
                             {"clientConfig",
                              Shape::Object({{"caBundle", Shape::Scalar(kLongestBundle)}})}}))}}),
      .most = kMostOfWebhooks};
}

Result<std::optional<json::Value>> CaBundlePatch(const json::Value& configuration,
                                                 std::string_view ca) {
  const json::Object* object = configuration.if_object();
  if (object == nullptr) return Fail(Reason::kInvalid, "a webhook configuration is not an object");
  if (object->contains(json::kCut)) {
    return Fail(Reason::kInvalid,
                "a webhook configuration's fields that are read have more than {} MiB",
                kMostOfWebhooks >> 20);
  }
  const json::Object& metadata = *TRY(ObjectIn(*object, "metadata"));
  const std::string version = TRY_IN(NeededTextIn(metadata, "resourceVersion"), "metadata");
  const std::string bundle = EncodeBase64(ca);
  json::Array webhooks;
  for (const json::Object* webhook : TRY(ObjectsIn(*object, "webhooks"))) {
    const std::string name = TRY_IN(NeededTextIn(*webhook, "name"), "webhooks");
    const json::Object& config = *TRY_IN(ObjectIn(*webhook, "clientConfig"), "webhooks");
    if (json::GetString(config, "caBundle") == bundle) continue;
    webhooks.push_back(
        json::Object{{"name", name}, {"clientConfig", json::Object{{"caBundle", bundle}}}});
  }
  if (webhooks.empty()) return std::optional<json::Value>();
  return std::optional<json::Value>(json::Object{
      {"metadata", json::Object{{"resourceVersion", version}}}, {"webhooks", std::move(webhooks)}});
}

}  // namespace tessera::kube
