// SPDX-License-Identifier: Apache-2.0
// Sparse arrays. Each mapped part holds its handle's memory, whether the handle was released or
// not. Any thread.
#pragma once

#include <cstdint>

namespace tessera::limiter {

// A list of mapped parts of one array; null: none.
struct Tile;

// Takes an array's parts before the driver destroys it: after that another thread may get its
// address at once.
Tile* TakeTiles(uint64_t array);
// The array is gone: frees its memory, unless others hold it.
void UncountTiles(Tile* tiles);
// The array was not destroyed: puts the parts back.
void PutTiles(Tile* tiles);

}  // namespace tessera::limiter
