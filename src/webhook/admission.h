// SPDX-License-Identifier: Apache-2.0
// Whether a pod may be made, and what is added to it: a pure function of the question, the rules
// and the cluster, which has no side effects, whether the pod will be made or not. Any thread.
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/json.h"
#include "webhook/review.h"
#include "webhook/rules.h"

namespace tessera::webhook {

// A pod that asks for none of our devices, is another scheduler's, or has the label that keeps the
// webhook out is left as it is; of none the protocol may be forged (ProtocolGuard).
Decision Decide(const Review& review, const Rules& rules, const ClusterFacts& facts);

// The answer to what an API server has POSTed. kInvalid where that is no AdmissionReview.
Result<json::Value> Admit(std::string_view body, const Rules& rules, const ClusterFacts& facts,
                          Stage stage);

}  // namespace tessera::webhook
