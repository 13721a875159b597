// SPDX-License-Identifier: Apache-2.0
// The request that evicts a pod as a drain does: its controller makes a new one, and disruption
// budgets apply (policy/v1). Pure. Any thread.
#pragma once

#include <string>

#include "json/json.h"
#include "kube/objects/pod.h"

namespace tessera::kube {

// The path to create it. The eviction names this pod's UID, so a later pod of the same name is
// safe.
std::string EvictionPath(const Pod& pod);
json::Value EvictionOf(const Pod& pod);

}  // namespace tessera::kube
