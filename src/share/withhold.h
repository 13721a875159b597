// SPDX-License-Identifier: Apache-2.0
// Shares for which their devices have no room now, as where somebody else has taken some of their
// memory. Pure; any thread.
#pragma once

#include <span>
#include <string>

#include "share/share.h"

namespace tessera {

// Withholds the shares that devices have no room for: of each, those that are held stay, and of the
// others the first as far as there is room beside them. `held`: ids of whatever devices.
void Withhold(std::span<const std::string> held, Offer& offer);

// kUnhealthyShare where the share is withheld.
Status CheckRoom(const Offer& offer, const Share& share);

}  // namespace tessera
