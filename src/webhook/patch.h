// SPDX-License-Identifier: Apache-2.0
// The JSON patch of a new pod. Values that the pod already has get no operation, so patching is
// idempotent. Pure. Any thread.
#pragma once

#include "json/json.h"
#include "webhook/review.h"
#include "webhook/rules.h"

namespace tessera::webhook {

// For a pod of ours with valid requests. A pod without a node also gets our scheduler's name.
json::Array PatchOf(const NewPod& pod, const Rules& rules, const DeviceRules& devices);

}  // namespace tessera::webhook
