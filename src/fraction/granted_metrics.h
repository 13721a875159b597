// SPDX-License-Identifier: Apache-2.0
// What late grants take of each device, as metrics. Any thread.
#pragma once

#include "fraction/grant_tally.h"
#include "grant/grant.h"
#include "http/metrics.h"
#include "share/share.h"

namespace tessera {

// Sets the metrics of the resource's present devices, and removes those of devices that have gone.
// If its shares are no fractions, removes all.
void SetGranted(const Granted& granted, const Offer& offer, const Rendering& rendering,
                http::Metrics& metrics);

}  // namespace tessera
