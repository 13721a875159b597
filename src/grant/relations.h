// SPDX-License-Identifier: Apache-2.0
// Whether devices may be in one container, as they stand to each other. Pure; any thread.
#pragma once

#include <span>

#include "base/result.h"
#include "share/share.h"

namespace tessera {

// kExcluded where two of these devices of the offer take the same hardware, kIncompleteBundle where
// one of them goes together with one of the offer that is not among them.
Status CheckRelations(const Offer& offer, std::span<const Device* const> devices);

}  // namespace tessera
