// SPDX-License-Identifier: Apache-2.0
// Builds reviews as API servers send them, and applies the answer's patch to the pod. Header-only,
// for tests.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "json/json.h"
#include "webhook/admission.h"

namespace tessera::webhook {

inline Rules RulesUnderTest() {
  return {.devices = {{.requests = {.count_name = "nvidia.com/gpu",
                                    .memory_name = "nvidia.com/gpumem",
                                    .percentage_name = "nvidia.com/gpumem-percentage",
                                    .cores_name = "nvidia.com/gpucores"},
                       .priority_name = "nvidia.com/priority"}},
          .schedulers = {"hami-scheduler", "tessera-scheduler"}};
}

// A review that creates `pod` in the namespace team.
inline std::string ReviewOf(std::string_view pod,
                            std::string_view user = R"({"username": "ann"})") {
  return fmt::format(
      R"({{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {{
          "uid": "u1", "resource": {{"group": "", "version": "v1", "resource": "pods"}},
          "namespace": "team", "operation": "CREATE", "userInfo": {}, "object": {}}}}})",
      user, pod);
}

// The unescaped part of a JSON pointer.
inline std::string MemberName(std::string_view part) {
  std::string name;
  for (size_t i = 0; i < part.size(); ++i) {
    const bool escaped = part[i] == '~' && i + 1 < part.size();
    name += escaped ? (part[++i] == '1' ? '/' : '~') : part[i];
  }
  return name;
}

// Applies one operation of a patch. False if its path does not exist.
inline bool Apply(const json::Object& operation, json::Value& whole) {
  const std::string how = json::GetString(operation, "op").value_or("");
  const json::Value* value = operation.if_contains("value");
  const auto parts = Split(json::GetString(operation, "path").value_or(""), '/');
  json::Value* at = &whole;
  for (size_t i = 1; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    const std::string name = MemberName(parts[i]);
    if (json::Array* list = at->if_array()) {
      const size_t place = name == "-" ? list->size() : std::stoul(name);
      if (last && how == "add") return list->insert(list->begin() + place, *value), true;
      if (place >= list->size()) return false;
      if (last && how == "remove") return list->erase(list->begin() + place), true;
      at = &(*list)[place];
    } else if (json::Object* object = at->if_object()) {
      if (last && how == "add") return (*object)[name] = *value, true;
      at = object->if_contains(name);
    } else {
      return false;
    }
    if (at == nullptr) return false;
    if (last && how == "replace") return *at = *value, true;
  }
  return false;
}

// Applies a whole patch. False if an operation fails.
inline bool ApplyAll(const json::Array& patch, json::Value& pod) {
  for (const json::Value& operation : patch) {
    if (!Apply(operation.as_object(), pod)) return false;
  }
  return true;
}

}  // namespace tessera::webhook
