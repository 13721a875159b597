// SPDX-License-Identifier: Apache-2.0
// A Secret (core/v1), such as holds a certificate with its key. It is read whole or not at all:
// who updates it gives back all that others have put there. No message has anything of its data.
// Plain data; pure; any thread.
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
  // As it was read, with the resourceVersion that an update is checked by; empty of a new one.
  json::Object metadata{};
};

Form SecretForm();
// kInvalid with the Secret's name and the field.
Result<Secret> ReadSecret(const json::Value& object);
// As it is created, or written back.
json::Value SecretJson(const Secret& secret);

}  // namespace tessera::kube
