// SPDX-License-Identifier: Apache-2.0
// The time that kernels take of a card. No thread runs them: the engine computes their begin and
// end. A card serves kernels first come, first served, or its processes in time slices (turns.h).
// Clients of MPS run beside each other. Any thread.
#pragma once

#include <cstdint>

#include "cuda/streams.h"

namespace tessera::fake_cuda {

// Submits a kernel of `ns` that begins after the mark `after`. Returns the mark of its end. Blocks
// while kQueue kernels of this process wait to begin, as a launch does with the driver.
Mark Submit(unsigned card, Mark after, uint64_t ns);

// True if the card's processes have time slices.
bool TakesTurns(unsigned card);

bool IsReached(unsigned card, Mark mark);
void AwaitMark(unsigned card, Mark mark);
// The time at which the mark was reached, in ns of CLOCK_MONOTONIC. Only for a mark that is.
uint64_t TimeOf(unsigned card, Mark mark);

}  // namespace tessera::fake_cuda
