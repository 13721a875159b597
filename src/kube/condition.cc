// SPDX-License-Identifier: Apache-2.0
#include "kube/condition.h"

#include <string_view>

#include "base/text.h"

namespace tessera::kube {
namespace {

const json::Object* Find(std::string_view type, const json::Value& node) {
  const json::Object* object = node.if_object();
  const json::Object* status = object == nullptr ? nullptr : json::GetObject(*object, "status");
  const json::Array* conditions =
      status == nullptr ? nullptr : json::GetArray(*status, "conditions");
  if (conditions == nullptr) return nullptr;
  for (const json::Value& condition : *conditions) {
    const json::Object* found = condition.if_object();
    if (found != nullptr && json::GetString(*found, "type") == type) return found;
  }
  return nullptr;
}

// The list is merged by its key, "type".
json::Value StatusPatch(json::Object condition) {
  return json::Object{{"status", json::Object{{"conditions", json::Array{std::move(condition)}}}}};
}

}  // namespace

std::optional<json::Value> ConditionPatch(const Condition& wanted, const json::Value& node,
                                          Wall now) {
  const std::string status = wanted.holds ? "True" : "False";
  const std::string when = FormatTime(now).substr(0, 19) + "Z";
  json::Object condition{{"type", wanted.type},
                         {"status", status},
                         {"reason", wanted.reason},
                         {"message", wanted.message},
                         {"lastHeartbeatTime", when}};
  const json::Object* present = Find(wanted.type, node);
  if (present == nullptr || json::GetString(*present, "status") != status) {
    condition["lastTransitionTime"] = when;
  } else if (json::GetString(*present, "reason") == wanted.reason &&
             json::GetString(*present, "message") == wanted.message) {
    return std::nullopt;
  }
  return StatusPatch(std::move(condition));
}

std::optional<json::Value> ConditionRemoval(const std::string& type, const json::Value& node) {
  if (Find(type, node) == nullptr) return std::nullopt;
  return StatusPatch({{"type", type}, {"$patch", "delete"}});
}

}  // namespace tessera::kube
