// SPDX-License-Identifier: Apache-2.0
// The chunks of 2 MiB in which the driver gives blocks of up to 1 MiB: one counts from the first
// block in it until the driver took the last one back, however few there are. A chunk knows how
// many they are, and not which. Any thread, and nobody waits; of this process alone, and a forked
// child finds none.
#pragma once

#include <cstdint>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {

inline constexpr uint64_t kChunk = uint64_t{2} << 20;

inline constexpr bool IsSmall(uint64_t bytes) {
  return bytes <= kChunk / 2;
}

// The driver gave a small block in the current context. `is_reserved`: kChunk bytes are, in case
// its chunk is new; they are given back if it is not. False: there is no room for its chunk, or no
// memory to know it; then nothing was noted, and the block is to be freed.
bool PutIntoChunk(int place, CUdeviceptr block, bool is_reserved);

// A block goes back to the driver, between the two. Null: it is in no chunk that is known.
struct Chunk;  // its address stays good
Chunk* BeginFree(CUdeviceptr block);
void EndFree(Chunk* chunk, bool is_freed);

// Another process may have a block from now on: what keeps the chunk on the card is not told any
// more, so that it stays counted as long as this process runs. False: it is in no chunk that is
// known, or was so before.
bool KeepChunk(CUdeviceptr block, int* place);

// A larger one begins here: no chunk is here any more, whatever is known of it.
void ForgetChunk(CUdeviceptr block);

// Where there is no room for another chunk: whether a block may fit into those that are there.
bool MayFit(int place, uint64_t bytes);
// It did not, nor will it until another one was freed.
void NoteFull(int place, uint64_t bytes);

// A context is about to end. What is put into its chunks from then on is not released with them.
void MarkChunks(CUcontext context);
// It has ended.
void ReleaseChunks(CUcontext context);

}  // namespace tessera::limiter
