// SPDX-License-Identifier: Apache-2.0
// Whether a pod may be made, and what is added to it. A pure function of the question, the rules
// and the cluster: a dry run is answered as any other. Any thread.
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/json.h"
#include "webhook/review.h"
#include "webhook/rules.h"

namespace tessera::webhook {

// Pods that ask for none of our devices, are another scheduler's, or have the label that keeps the
// webhook out are left as they are. No pod may forge the protocol (ProtocolGuard).
Decision Decide(const Review& review, const Rules& rules, const ClusterFacts& facts);

// The answer to what an API server has POSTed. kInvalid where that is no AdmissionReview.
Result<json::Value> Admit(std::string_view body, const Rules& rules, const ClusterFacts& facts,
                          Stage stage);

}  // namespace tessera::webhook
