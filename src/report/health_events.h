// SPDX-License-Identifier: Apache-2.0
// What is told of devices through the API server: events on the node and on the pods that hold
// them, and the node's condition. Pure; any thread.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fraction/grant_space.h"
#include "kube/condition.h"
#include "kube/event.h"
#include "ledger/ledger.h"
#include "node/node.h"

namespace tessera {

// The events of devices of one source that fell or came back. On the node one a device, or, of many
// at once, one for all that fell and one for all that came back; one on each pod that holds any of
// them. Of a pod whose UID is not known the reference has none; of one whose name is not known
// there is no event.
std::vector<kube::Event> EventsOf(const std::string& source, const std::vector<Transition>& steps,
                                  const Ledger& ledger, const std::string& node_name, Wall now);

// That a container's directory was cut back, on its pod; nothing where the pod's name is not known.
std::optional<kube::Event> EventOf(const GrantSpace::Cut& cut, const Ledger& ledger, Wall now);

// Whether any device is out that nobody took out by hand, and which.
kube::Condition ConditionOf(const Node& node, const std::string& type);
// What takes such conditions of these types off `node`, as the API server has it; nothing where
// there is none. One that somebody else has put there by that name stays.
std::optional<json::Value> ConditionsRemoval(const std::set<std::string>& types,
                                             const json::Value& node);

}  // namespace tessera
