// SPDX-License-Identifier: Apache-2.0
// Grants on runtimes that read no CDI, where nothing can be said to a container after Allocate: the
// agent must know whose it is when kubelet asks, and refuses a match that proves wrong. All that
// the rest of the agent sees of that is this header; without it such runtimes have no virtual GPUs
// that are as large as pods ask for (docs/decisions/023). Any thread.
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
  // Which container kubelet asks for with these ids, and what that one is to get. As
  // ContainerClaims::Claim, by MatchPod.
  Result<FractionMatch> ClaimFor(const Offer& offer, const FractionRules& fractions,
                                 std::span<const std::string> ids, Duration within);
};

}  // namespace tessera
