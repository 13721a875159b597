// SPDX-License-Identifier: Apache-2.0
// Sparse arrays: the program maps their memory tile by tile. Any thread.
#pragma once

#include <optional>

#include "limiter/driver/cuda.h"

namespace tessera::fake_cuda {

inline constexpr uint64_t kTileBytes = uint64_t{64} << 10;

// The array, or the array's level, of an operation (arrays.cc). None: there is no such level, or it
// is not sparse.
std::optional<CUDA_ARRAY3D_DESCRIPTOR> FindSparse(const CUarrayMapInfo& operation);
// Unmaps all tiles of an array that ends.
void DropTilesOf(const void* resource);

// The size of physical memory for tiles (vmm.cc). 0: the handle is invalid, or not for tiles.
uint64_t TilePoolBytes(CUmemGenericAllocationHandle handle);
// Counts a mapping of the memory, or removes one. False: the handle is invalid.
bool MapTile(CUmemGenericAllocationHandle handle);
void UnmapTile(CUmemGenericAllocationHandle handle);

}  // namespace tessera::fake_cuda
