// SPDX-License-Identifier: Apache-2.0
// Arrays that have what is mapped into them: each part that is mapped holds the memory of its
// handle, released or not. Any thread.
#pragma once

#include <cstdint>

namespace tessera::limiter {

// Parts of one array that are mapped, one behind the other; null: none are.
struct Tile;

// An array is about to go, and with it what is mapped: before the driver has it, which gives its
// address to another thread at once.
Tile* TakeTiles(uint64_t array);
// It went: its memory is free, if nobody else has it.
void UncountTiles(Tile* tiles);
// It did not go after all.
void PutTiles(Tile* tiles);

}  // namespace tessera::limiter
