// SPDX-License-Identifier: Apache-2.0
// The page of all grants, for `tessera monitor`: which container has what of which device. A grant
// is on it from its binding on. Reads memory only. Pure; one thread: the loop's.
#pragma once

#include "agent/pages.h"
#include "agent/pod_page.h"
#include "json/json.h"

namespace tessera::agent {

// {"node", "released", "pods": {UID: "NAMESPACE/NAME"}, "directories": [...], "containers":
// [{"namespace", "pod", "uid", "container", "resource", "division", "grant", "directory",
// "devices": [{"device", "memoryBytes", "cores"}]}]}. `pods` are all that the API server reports,
// for containers that another plugin granted. `directories` have the limiter's files. A grant
// without fractions has no "grant" and no "directory", and its devices have neither memory nor
// cores.
json::Value GrantsPage(const PodFacts& facts, const ServedResources& resources, bool released);

}  // namespace tessera::agent
