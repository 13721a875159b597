// SPDX-License-Identifier: Apache-2.0
// What one container has of what was decided for its pod. Pure; any thread.
#pragma once

#include "base/result.h"
#include "grant/fraction.h"
#include "kube/objects/pod.h"
#include "placement/placement.h"

namespace tessera {

// kGrantUnknown where a directory cannot be named after it.
Result<FractionMatch> MatchOf(const kube::Pod& pod, const PlacedContainer& own,
                              const FractionRules& fractions);

}  // namespace tessera
