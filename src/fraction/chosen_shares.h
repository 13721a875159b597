// SPDX-License-Identifier: Apache-2.0
// Which shares kubelet is to take for a container whose GPUs a scheduler has chosen already.
// kubelet does not say which container it is: only where all that it may be have the same GPUs, is
// there an answer. What a container gets is bound later in any case (grant_binder.h); that
// kubelet's shares are of the same GPUs makes the view of its monitoring the true one. Pure; any
// thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "choose/choose.h"
#include "fraction/bind_context.h"
#include "grant/grant.h"

namespace tessera {

// As Choose; empty where the pods that wait for their devices do not agree, or not enough of those
// shares are available.
std::vector<std::string> ChosenShares(std::span<const PodPtr> waiting, const Offer& offer,
                                      const FractionRules& fractions, const Preference& preference);

}  // namespace tessera
