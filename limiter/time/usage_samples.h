// SPDX-License-Identifier: Apache-2.0
// This process's use of a device whose time is not limited, for display. At most 60 launches a
// second are measured, like limited ones. Each stands for those since the last one. The result is
// an estimate and includes waits for other work. Nothing is limited or charged. Any thread.
#pragma once

#include <cstdint>

#include "limiter/driver/cuda.h"
#include "limiter/time/samples.h"

namespace tessera::limiter {

// Before a launch that stands for `launches`. Returns the argument of EndUsageSample(); negative:
// not measured.
int BeginUsageSample(const Stream& stream, uint32_t launches);
// After the driver's answer.
void EndUsageSample(int look, const Stream& stream, bool is_launched);

// Around a driver call that may end a context; UsageSamplesEnded() if it did. Like ContextEnd
// (meter.h). False: do not call LetGoUsageSamples().
bool HoldUsageSamples();
void UsageSamplesEnded(CUcontext context);
void LetGoUsageSamples();

}  // namespace tessera::limiter
