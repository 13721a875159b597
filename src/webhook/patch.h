// SPDX-License-Identifier: Apache-2.0
// What is added to a new pod, as a JSON patch: what it has already is in no operation, so that a
// pod which was patched is left as it is. Pure; any thread.
#pragma once

#include "json/json.h"
#include "webhook/review.h"
#include "webhook/rules.h"

namespace tessera::webhook {

// Of a pod of ours whose requests can be meant. It is placed by a scheduler, unless it names its
// node.
json::Array PatchOf(const NewPod& pod, const Rules& rules, const DeviceRules& devices);

}  // namespace tessera::webhook
