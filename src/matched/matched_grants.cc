// SPDX-License-Identifier: Apache-2.0
#include "matched/matched_grants.h"

#include "matched/pod_match.h"

namespace tessera {

Result<FractionMatch> MatchedGrants::ClaimFor(const Offer& offer, const FractionRules& fractions,
                                              std::span<const std::string> ids, Duration within) {
  return Claim(
      offer.resource,
      [&](std::span<const PodPtr> pods, const Answered& answered) {
        return MatchPod(pods, answered, offer, fractions, ids);
      },
      within);
}

}  // namespace tessera
