// SPDX-License-Identifier: Apache-2.0
// A node condition, such as kubelet's "Ready". Pure. Plain data. Any thread.
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

// A strategic merge patch for the status of `node` that sets the condition and keeps all others,
// such as kubelet's. Nothing if the node has it.
std::optional<json::Value> ConditionPatch(const Condition& wanted, const json::Value& node,
                                          Wall now);
// A patch that removes conditions of these types with one of these reasons. Nothing if there is
// none.
std::optional<json::Value> ConditionRemoval(const std::set<std::string>& types,
                                            const std::set<std::string>& reasons,
                                            const json::Value& node);

}  // namespace tessera::kube
