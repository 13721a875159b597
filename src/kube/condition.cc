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

// The API server merges the list by its key, "type".
json::Value StatusPatch(json::Array conditions) {
  return json::Object{{"status", json::Object{{"conditions", std::move(conditions)}}}};
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
  return StatusPatch({std::move(condition)});
}

std::optional<json::Value> ConditionRemoval(const std::set<std::string>& types,
                                            const std::set<std::string>& reasons,
                                            const json::Value& node) {
  json::Array removals;
  for (const std::string& type : types) {
    const json::Object* present = Find(type, node);
    if (present == nullptr) continue;
    if (!reasons.contains(json::GetString(*present, "reason").value_or(""))) continue;
    removals.push_back(json::Object{{"type", type}, {"$patch", "delete"}});
  }
  if (removals.empty()) return std::nullopt;
  return StatusPatch(std::move(removals));
}

}  // namespace tessera::kube
