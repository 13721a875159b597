// SPDX-License-Identifier: Apache-2.0
#include "matched/matched_grants.h"

#include "matched/grant_match.h"
#include "matched/mount_sources.h"
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

Status CheckMatchedOwner(const HeldGrant& held) {
  return CheckOwner(held);
}

Status CheckMatchedAnswer(const HeldGrant& held, const Offer& offer, const FractionRules& fractions,
                          const BindingRecord& record) {
  return CheckMatch(held.answer, offer, fractions, record);
}

Status CheckMatchedMounts(const os::Root& root, const Grant& answer) {
  return CheckMountSources(root, answer);
}

}  // namespace tessera
