// SPDX-License-Identifier: Apache-2.0
// What this process has of a device's time where that is not limited, for whoever is shown it. A
// launch now and then, 60 in a second at most, is measured as limited ones are, and stands for
// those since the last one: an estimate, in which is what it waited for others. It limits nothing,
// and nothing is charged for it. Any thread.
#pragma once

#include <cstdint>

#include "limiter/driver/cuda.h"
#include "limiter/time/samples.h"

namespace tessera::limiter {

// Before a launch, which stands for so many: what EndUsageSample() is to be told. Below 0: it is
// not looked at.
int BeginUsageSample(const Stream& stream, uint32_t launches);
// The driver has answered.
void EndUsageSample(int look, const Stream& stream, bool is_launched);

// Around a call of the driver that may end a context, if it does with UsageSamplesEnded(): as
// ContextEnd (meter.h). False: LetGoUsageSamples() is not to be called.
bool HoldUsageSamples();
void UsageSamplesEnded(CUcontext context);
void LetGoUsageSamples();

}  // namespace tessera::limiter
