// SPDX-License-Identifier: Apache-2.0
// The chunks of 2 MiB in which the driver places blocks of up to 1 MiB. A chunk is counted from its
// first block until the driver has taken back the last one. It knows the number of its blocks, not
// their addresses. Any thread; no call waits. Of this process alone; a forked child finds none.
#pragma once

#include <cstdint>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {

inline constexpr uint64_t kChunk = uint64_t{2} << 20;

inline constexpr bool IsSmall(uint64_t bytes) {
  return bytes <= kChunk / 2;
}

// Counts a small block that the driver placed in the current context. `is_reserved`: kChunk bytes
// are reserved in case its chunk is new, and are released if it is not. False: no room for the
// chunk, or no memory to record it. The block is then not counted, and the caller frees it.
bool PutIntoChunk(int place, CUdeviceptr block, bool is_reserved);

// Around the driver's call that frees a block. Null: in no known chunk.
struct Chunk;  // its address stays good
Chunk* BeginFree(CUdeviceptr block);
void EndFree(Chunk* chunk, bool is_freed);

// Another process may hold this block from now on. No call reports how long it keeps the chunk on
// the card, so the chunk stays counted until this process ends. False: in no known chunk, or kept
// already.
bool KeepChunk(CUdeviceptr block, int* place);

// A larger allocation begins at this address, so any chunk recorded here is gone.
void ForgetChunk(CUdeviceptr block);

// Without room for another chunk: true if a block may fit into an existing one.
bool MayFit(int place, uint64_t bytes);
// The block did not fit, and none of its size will until another block is freed.
void NoteFull(int place, uint64_t bytes);

// A context is about to end. Blocks that are placed in its chunks after this call are not released
// with it.
void MarkChunks(CUcontext context);
// The context has ended.
void ReleaseChunks(CUcontext context);

}  // namespace tessera::limiter
