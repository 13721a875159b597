// SPDX-License-Identifier: Apache-2.0
// One container's part of what was decided for its pod. Pure; any thread.
#pragma once

#include "base/result.h"
#include "grant/fraction.h"
#include "kube/objects/pod.h"
#include "placement/placement.h"

namespace tessera {

// The match of the pod's container `own`. kGrantUnknown if no directory can have its name.
Result<FractionMatch> MatchOf(const kube::Pod& pod, const PlacedContainer& own,
                              const FractionRules& fractions);

}  // namespace tessera
