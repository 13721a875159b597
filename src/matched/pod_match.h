// SPDX-License-Identifier: Apache-2.0
// Finds the container of an Allocate call, on a runtime without CDI. kubelet does not name the
// container of the ids. It asks for a pod's containers one after the other, init containers and
// sidecars first. So each pod has only one candidate: its next container. HAMi's node lock admits
// one pod at a time.
//
// Several candidates mean a refusal, because a grant cannot be taken back. The match is checked
// again when the container is about to be made. Pure; any thread.
#pragma once

#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "binding/pod_cache.h"
#include "grant/fraction.h"
#include "matched/container_claims.h"
#include "placement/placement.h"
#include "share/share.h"

namespace tessera {

// Searches these pods, without the claimed containers. kNotMatched if there is no candidate, or
// several. Other errors are those of ReadPlacement and FitPlacement for the candidate.
Result<FractionMatch> MatchPod(std::span<const PodPtr> pods,
                               const ContainerClaims::Answered& answered, const Offer& offer,
                               const FractionRules& fractions, std::span<const std::string> ids);

}  // namespace tessera
