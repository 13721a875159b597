// SPDX-License-Identifier: Apache-2.0
// Asks the API server to end a pod as a drain does: whoever made it makes it anew, and disruption
// budgets are heeded (policy/v1). Pure; any thread.
#pragma once

#include <string>

#include "json/json.h"
#include "kube/objects/pod.h"

namespace tessera::kube {

// Where it is created, for exactly this pod and no later one of its name.
std::string EvictionPath(const Pod& pod);
json::Value EvictionOf(const Pod& pod);

}  // namespace tessera::kube
