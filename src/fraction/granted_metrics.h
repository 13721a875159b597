// SPDX-License-Identifier: Apache-2.0
// What was granted of each device by late grants, as metrics. Any thread.
#pragma once

#include "fraction/grant_tally.h"
#include "grant/grant.h"
#include "http/metrics.h"
#include "share/share.h"

namespace tessera {

// Of the resource's devices as they are now; those that have gone are shown no more, as all are
// where its shares are no fractions.
void SetGranted(const Granted& granted, const Offer& offer, const Rendering& rendering,
                http::Metrics& metrics);

}  // namespace tessera
