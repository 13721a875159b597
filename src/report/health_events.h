// SPDX-License-Identifier: Apache-2.0
// Makes the API server's view of device health: events on the node and on the pods that hold the
// devices, and the node's condition. Pure; any thread.
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

// The events of one source's devices that fell or returned. The node gets one event per device; if
// there are many, one for all falls and one for all returns. Each pod that holds some of them gets
// one. A pod with an unknown UID is referenced without it; a pod with an unknown name gets no
// event.
std::vector<kube::Event> EventsOf(const std::string& source, const std::vector<Transition>& steps,
                                  const Ledger& ledger, const std::string& node_name, Wall now);

// The event on a pod whose container's directory was cut back; nothing if the pod's name is
// unknown.
std::optional<kube::Event> EventOf(const GrantSpace::Cut& cut, const Ledger& ledger, Wall now);

// The node's condition: true if a device is out without a cordon, and names such devices.
kube::Condition ConditionOf(const Node& node, const std::string& type);
// The patch that removes conditions of these types from `node`; nothing if there is none. A
// condition of the same type that another party set stays.
std::optional<json::Value> ConditionsRemoval(const std::set<std::string>& types,
                                             const json::Value& node);

}  // namespace tessera
