// SPDX-License-Identifier: Apache-2.0
// Decides whether a pod is admitted, and its patch. A pure function of review, rules and cluster
// facts, so a dry run needs no special case. Any thread.
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/json.h"
#include "webhook/review.h"
#include "webhook/rules.h"

namespace tessera::webhook {

// Pods that request none of our devices, name another scheduler or carry the opt-out label stay
// unchanged. No pod may forge the protocol (ProtocolGuard).
Decision Decide(const Review& review, const Rules& rules, const ClusterFacts& facts);

// The answer to the body that an API server POSTed. kInvalid if it is no AdmissionReview.
Result<json::Value> Admit(std::string_view body, const Rules& rules, const ClusterFacts& facts,
                          Stage stage);

}  // namespace tessera::webhook
