// SPDX-License-Identifier: Apache-2.0
// Withholds shares without room on their device, for example because another process has taken its
// memory. Pure; any thread.
#pragma once

#include <span>
#include <string>

#include "share/share.h"

namespace tessera {

// Withholds the shares that exceed their devices' room. The held shares of a device stay and use up
// its room first. The other shares then fill the rest, in order. `held` may have ids of any device.
void Withhold(std::span<const std::string> held, Offer& offer);

// kUnhealthyShare if the share is withheld.
Status CheckRoom(const Offer& offer, const Share& share);

}  // namespace tessera
