// SPDX-License-Identifier: Apache-2.0
// Matched grants, for runtimes without CDI. The agent cannot change such a grant after Allocate, so
// it must find the container when kubelet asks. It refuses a match that proves wrong. This header
// is the whole interface for the rest of the agent. Without it these runtimes have no virtual GPUs
// of the sizes that pods ask for (docs/decisions/023). Any thread.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "grant/fraction.h"
#include "matched/container_claims.h"
#include "matched/grant_match.h"
#include "matched/mount_sources.h"
#include "share/share.h"

namespace tessera {

class MatchedGrants : public ContainerClaims {
 public:
  using ContainerClaims::ContainerClaims;
  // Finds the container for which kubelet asks for these ids, and the fractions that it gets. This
  // is ContainerClaims::Claim with MatchPod.
  Result<FractionMatch> ClaimFor(const Offer& offer, const FractionRules& fractions,
                                 std::span<const std::string> ids, Duration within);
};

}  // namespace tessera
