// SPDX-License-Identifier: Apache-2.0
// Which container kubelet asks for, where that has to be known when it asks: on a runtime without
// CDI, to which nothing can be said later. kubelet does not say whose ids it names. It asks for the
// containers of a pod one after the other, init containers and sidecars first: of each pod only the
// next one can be meant. HAMi's lock of the node lets one pod come at a time. Where several
// containers may be meant the answer is a refusal, for a grant cannot be taken back. The match is
// checked when the container is about to be made. Pure; any thread.
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

// Among those pods, without the containers that were answered already. kNotMatched where none may
// be meant, or several; else as ReadPlacement and FitPlacement for the one that is.
Result<FractionMatch> MatchPod(std::span<const PodPtr> pods,
                               const ContainerClaims::Answered& answered, const Offer& offer,
                               const FractionRules& fractions, std::span<const std::string> ids);

}  // namespace tessera
