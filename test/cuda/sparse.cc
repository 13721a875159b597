// SPDX-License-Identifier: Apache-2.0
// Sparse arrays: which tiles have memory, and from which handle. Operations take effect at once,
// not in the stream's order.
#include "cuda/sparse.h"

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "cuda/contexts.h"

namespace tessera::fake_cuda {
namespace {

using Handle = CUmemGenericAllocationHandle;

constexpr int kSparseLevel = 0, kMiptail = 1;
constexpr int kMap = 1, kUnmap = 2;
constexpr uint64_t kTailLevel = UINT32_MAX;

struct Tile {
  const void* resource = nullptr;
  uint64_t level = 0, layer = 0, x = 0, y = 0, z = 0;
  auto operator<=>(const Tile&) const = default;
};
struct Tiles {
  std::mutex mutex;  // guards the members below
  std::map<Tile, Handle> mapped;
};
Tiles& TheTiles() {
  static auto* const tiles = new Tiles();
  return *tiles;
}

struct Extent {
  uint64_t x, y, z;
};

// The extent of a tile of 64 KiB, as with the driver. 0: this fake has none for the format.
Extent TileOf(const CUDA_ARRAY3D_DESCRIPTOR& array) {
  const bool solid = array.Depth > 0 && (array.Flags & CUDA_ARRAY3D_LAYERED) == 0;
  const bool wide = array.Format == CU_AD_FORMAT_FLOAT && array.NumChannels == 4;
  const bool narrow = array.Format == CU_AD_FORMAT_FLOAT && array.NumChannels == 1;
  if (wide) return solid ? Extent{16, 16, 16} : Extent{64, 64, 1};
  if (narrow) return solid ? Extent{32, 32, 16} : Extent{128, 128, 1};
  return {};
}

// True if the part covers whole tiles, or ends with the array.
bool Covers(uint64_t offset, uint64_t extent, uint64_t whole, uint64_t tile) {
  const uint64_t end = offset + extent;
  return extent > 0 && offset % tile == 0 && end <= whole && (end % tile == 0 || end == whole);
}

// The tiles of an operation. None: it is invalid.
std::vector<Tile> TilesOf(const CUarrayMapInfo& operation) {
  const auto array = FindSparse(operation);
  std::vector<Tile> all;
  if (!array || TileOf(*array).x == 0) return all;
  if (operation.subresourceType == kMiptail) {
    const auto& tail = operation.subresource.miptail;
    if (tail.offset % kTileBytes != 0 || tail.size % kTileBytes != 0) return all;
    for (uint64_t at = tail.offset; at < tail.offset + tail.size; at += kTileBytes) {
      all.push_back({operation.resource, kTailLevel, tail.layer, at, 0, 0});
    }
    return all;
  }
  const auto& level = operation.subresource.sparseLevel;
  const Extent tile = TileOf(*array);
  const uint64_t height = std::max<uint64_t>(array->Height, 1);
  const uint64_t depth = tile.z == 1 ? 1 : array->Depth;
  if (operation.subresourceType != kSparseLevel ||
      !Covers(level.offsetX, level.extentWidth, array->Width, tile.x) ||
      !Covers(level.offsetY, level.extentHeight, height, tile.y) ||
      !Covers(level.offsetZ, level.extentDepth, depth, tile.z)) {
    return all;
  }
  for (uint64_t z = level.offsetZ; z < level.offsetZ + level.extentDepth; z += tile.z) {
    for (uint64_t y = level.offsetY; y < level.offsetY + level.extentHeight; y += tile.y) {
      for (uint64_t x = level.offsetX; x < level.offsetX + level.extentWidth; x += tile.x) {
        all.push_back({operation.resource, level.level, level.layer, x, y, z});
      }
    }
  }
  return all;
}

bool IsValid(const CUarrayMapInfo& operation, const std::vector<Tile>& tiles) {
  if (tiles.empty()) return false;
  if (operation.memOperationType == kUnmap) return true;
  return operation.memOperationType == kMap && operation.deviceBitMask != 0 &&
         operation.offset % kTileBytes == 0 &&
         operation.offset + tiles.size() * kTileBytes <= TilePoolBytes(operation.memHandle);
}

// Replaces the former mapping of each tile. With the mutex held.
void Do(const CUarrayMapInfo& operation, const std::vector<Tile>& tiles, Tiles& all) {
  for (const Tile& tile : tiles) {
    if (operation.memOperationType == kMap) MapTile(operation.memHandle);
    const auto found = all.mapped.find(tile);
    if (found != all.mapped.end()) {
      UnmapTile(found->second);
      all.mapped.erase(found);
    }
    if (operation.memOperationType == kMap) all.mapped[tile] = operation.memHandle;
  }
}

}  // namespace

void DropTilesOf(const void* resource) {
  Tiles& all = TheTiles();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.mapped, [&](const auto& one) {
    if (one.first.resource != resource) return false;
    UnmapTile(one.second);
    return true;
  });
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

namespace {

CUresult PropertiesOf(const CUarrayMapInfo& of, CUDA_ARRAY_SPARSE_PROPERTIES* out) {
  const auto array = FindSparse(of);
  if (out == nullptr || !array || TileOf(*array).x == 0) return CUDA_ERROR_INVALID_VALUE;
  const Extent tile = TileOf(*array);
  *out = {};
  out->tileExtent.width = static_cast<unsigned>(tile.x);
  out->tileExtent.height = static_cast<unsigned>(tile.y);
  out->tileExtent.depth = static_cast<unsigned>(tile.z);
  return CUDA_SUCCESS;
}

}  // namespace

FAKE_EXPORT CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* out, CUarray array) {
  CUarrayMapInfo of{};
  of.resource = array;
  return PropertiesOf(of, out);
}

FAKE_EXPORT CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* out,
                                                         CUmipmappedArray array) {
  CUarrayMapInfo of{};
  of.resourceType = 1;
  of.resource = array;
  return PropertiesOf(of, out);
}

FAKE_STREAM_FUNCTION(cuMemMapArrayAsync, _ptsz,
                     (CUarrayMapInfo * list, unsigned count, CUstream stream),
                     (list, count, stream)) {
  if (Current() == nullptr) return Missing();
  NEED_NO_CAPTURE();
  if (list == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  static_cast<void>(stream);
  // Looked up before the mutex is locked: the end of an array locks its mutex first, then this one.
  std::vector<std::vector<Tile>> tiles;
  for (unsigned i = 0; i < count; ++i) {
    tiles.push_back(TilesOf(list[i]));
    if (!IsValid(list[i], tiles.back())) return CUDA_ERROR_INVALID_VALUE;
  }
  Tiles& all = TheTiles();
  const std::lock_guard lock(all.mutex);
  for (unsigned i = 0; i < count; ++i) Do(list[i], tiles[i], all);
  return CUDA_SUCCESS;
}
