// SPDX-License-Identifier: Apache-2.0
// Arrays whose memory is mapped in tiles, and the memory that is. Any thread.
#pragma once

#include <optional>

#include "limiter/driver/cuda.h"

namespace tessera::fake_cuda {

inline constexpr uint64_t kTileBytes = uint64_t{64} << 10;

// What an operation is on (arrays.cc); none: there is no such level, or its memory is its own.
std::optional<CUDA_ARRAY3D_DESCRIPTOR> FindSparse(const CUarrayMapInfo& operation);
// The array is no more.
void DropTilesOf(const void* resource);

// Of physical memory whose handle was not released (vmm.cc); 0: there is none, or it is none for
// tiles.
uint64_t TilePoolBytes(CUmemGenericAllocationHandle handle);
// A tile more of it is mapped, or one less. False: its handle was released, or is none.
bool MapTile(CUmemGenericAllocationHandle handle);
void UnmapTile(CUmemGenericAllocationHandle handle);

}  // namespace tessera::fake_cuda
