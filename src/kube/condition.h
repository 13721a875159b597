// SPDX-License-Identifier: Apache-2.0
// A condition of the node, such as kubelet's own "Ready". Pure; plain data; any thread.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "json/json.h"

namespace tessera::kube {

struct Condition {
  std::string type;  // "DevicesUnhealthy"
  bool holds = false;
  std::string reason;   // one word: "DeviceUnhealthy"
  std::string message;  // for people
  bool operator==(const Condition&) const = default;
};

// What makes `node`, as the API server has it, have the condition: a strategic merge patch for its
// status, which leaves all other conditions alone, kubelet's among them. Nothing where it has it.
std::optional<json::Value> ConditionPatch(const Condition& wanted, const json::Value& node,
                                          Wall now);
// What takes away the conditions of these types that have one of these reasons; nothing where there
// is none.
std::optional<json::Value> ConditionRemoval(const std::set<std::string>& types,
                                            const std::set<std::string>& reasons,
                                            const json::Value& node);

}  // namespace tessera::kube
