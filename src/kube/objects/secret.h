// SPDX-License-Identifier: Apache-2.0
// A Secret (core/v1), for example of a certificate and its key. It is read completely or not at
// all, because an update must keep others' entries. No message contains its data. Pure. Plain data.
// Any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "json/json.h"
#include "kube/objects/form.h"
#include "kube/objects/members.h"

namespace tessera::kube {

struct Secret {
  std::string secret_namespace{};
  std::string name{};
  std::string type = "Opaque";
  Texts data{};  // bytes by key, decoded
  // As read, with the resourceVersion that guards an update. Empty for a new Secret.
  json::Object metadata{};
};

Form SecretForm();
// kInvalid with the Secret's name and the field.
Result<Secret> ReadSecret(const json::Value& object);
// The object to create or to write back.
json::Value SecretJson(const Secret& secret);

}  // namespace tessera::kube
