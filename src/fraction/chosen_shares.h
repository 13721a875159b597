// SPDX-License-Identifier: Apache-2.0
// Which shares kubelet should take for a container whose GPUs a scheduler has chosen. kubelet does
// not name the container, so there is an answer only if all candidates have the same GPUs. The
// grant is bound later in any case (grant_binder.h). Shares of the right GPUs make kubelet's own
// view correct. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "choose/choose.h"
#include "fraction/bind_context.h"
#include "grant/grant.h"

namespace tessera {

// As Choose. Empty if the waiting pods do not agree, or too few of those shares are available.
std::vector<std::string> ChosenShares(std::span<const PodPtr> waiting, const Offer& offer,
                                      const FractionRules& fractions, const Preference& preference);

}  // namespace tessera
