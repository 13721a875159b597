// SPDX-License-Identifier: Apache-2.0
// How long what a card is given takes. No thread stands behind it: when a kernel begins and ends is
// computed when it is launched, from what all processes gave the card before. Any thread.
#pragma once

#include <cstdint>

#include "cuda/streams.h"

namespace tessera::fake_cuda {

// A kernel of so many ns, which begins after what `after` marks; the mark of its end. Waits while
// this process has as many kernels waiting as the driver takes.
Mark Submit(unsigned card, Mark after, uint64_t ns);

// Its processes have it one after the other.
bool TakesTurns(unsigned card);

bool IsReached(unsigned card, Mark mark);
void AwaitMark(unsigned card, Mark mark);
uint64_t TimeOf(unsigned card, Mark mark);  // in ns, once it is reached

}  // namespace tessera::fake_cuda
