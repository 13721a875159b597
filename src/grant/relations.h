// SPDX-License-Identifier: Apache-2.0
// Whether devices may go into one container together, by their traits. Pure; any thread.
#pragma once

#include <span>

#include "base/result.h"
#include "share/share.h"

namespace tessera {

// kExcluded if two of these devices take the same hardware. kIncompleteBundle if one of them has a
// bundle, and another device of that bundle in the offer is missing.
Status CheckRelations(const Offer& offer, std::span<const Device* const> devices);

}  // namespace tessera
