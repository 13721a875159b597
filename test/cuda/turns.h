// SPDX-License-Identifier: Apache-2.0
// A card whose processes have time slices, in the order of their slots. A process without work is
// passed over. No thread runs this: each call computes the time slices since the last call, of any
// process. A mark is a count of ns that this process has had of the card. Any thread.
#pragma once

#include "cuda/state.h"

namespace tessera::fake_cuda {

// Computes the time slices up to `now`.
void Advance(State& state, unsigned card, uint64_t now);

// Adds work of `ns`. Returns the mark of its end. One thread of the process at a time.
uint64_t SubmitInTurn(State& state, unsigned card, uint64_t ns, uint64_t now);
bool IsReachedInTurn(State& state, unsigned card, uint64_t mark, uint64_t now);
// The earliest time at which the mark can be reached.
uint64_t NotBefore(State& state, unsigned card, uint64_t mark);
// The time at which a mark was reached.
uint64_t TimeInTurn(State& state, unsigned card, uint64_t mark);

}  // namespace tessera::fake_cuda
