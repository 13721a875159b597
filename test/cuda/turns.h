// SPDX-License-Identifier: Apache-2.0
// A card whose processes take turns of some length, in the order of their slots; one that has
// nothing to do is passed over. Nobody runs it: whoever looks computes what happened since somebody
// last did. A mark is how many ns of the card this process will have been given. Any thread, of any
// process.
#pragma once

#include "cuda/state.h"

namespace tessera::fake_cuda {

void Advance(State& state, unsigned card, uint64_t now);

// Work of so many ns; the mark of its end. Not by two threads at once.
uint64_t SubmitInTurn(State& state, unsigned card, uint64_t ns, uint64_t now);
bool IsReachedInTurn(State& state, unsigned card, uint64_t mark, uint64_t now);
// Before this time it is not, however the turns go.
uint64_t NotBefore(State& state, unsigned card, uint64_t mark);
// Once it is reached.
uint64_t TimeInTurn(State& state, unsigned card, uint64_t mark);

}  // namespace tessera::fake_cuda
