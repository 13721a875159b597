// SPDX-License-Identifier: Apache-2.0
// The mapped parts of arrays. A part is a box, as the program maps it. If a box is unmapped or
// mapped again in part, its rest stays.
#include "limiter/memory/sparse.h"

#include <string.h>
#include <sys/mman.h>

#include "limiter/accounting/cancel.h"
#include "limiter/accounting/mutex.h"
#include "limiter/accounting/process_memory.h"
#include "limiter/driver/driver.h"
#include "limiter/memory/charge.h"
#include "limiter/memory/virtual.h"

namespace tessera::limiter {

namespace {
constexpr int kAxes = 3;
struct Box {
  uint64_t from[kAxes];
  uint64_t to[kAxes];
};
}  // namespace

struct Tile {
  Tile* next;
  uint64_t array;
  uint64_t level;
  uint64_t layer;
  Box box;
  CUmemGenericAllocationHandle handle;
  unsigned operation;  // of the call that maps it, as long as that has not returned
};

namespace {

constexpr int kMap = 1, kUnmap = 2;
constexpr int kMiptail = 1;
constexpr uint64_t kTailLevel = UINT32_MAX;
constexpr size_t kChains = 1024;

struct Tiles {
  Mutex mutex;            // guards what follows
  Tile* chains[kChains];  // by array
  Tile* unused;
};

Tiles* TheTiles() {
  static constinit ProcessMemory<Tiles> tiles;
  return tiles.Get();
}

// With the mutex held, like all functions that take Tiles. Null: no memory.
Tile* New(Tiles* all) {
  constexpr size_t kBytes = 64 << 10;
  if (all->unused == nullptr) {
    void* const memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* const some = static_cast<Tile*>(memory);
    for (size_t i = 0; i < kBytes / sizeof(Tile); ++i) {
      some[i].next = all->unused;
      all->unused = &some[i];
    }
  }
  Tile* const tile = all->unused;
  all->unused = tile->next;
  tile->next = nullptr;
  return tile;
}

void Drop(Tile* tile, Tiles* all) {
  tile->next = all->unused;
  all->unused = tile;
}

Tile** ChainOf(uint64_t array, Tiles* all) {
  return &all->chains[(array >> 4 ^ array >> 14) % kChains];
}

void Put(Tile* tile, Tiles* all) {
  Tile** const chain = ChainOf(tile->array, all);
  tile->next = *chain;
  *chain = tile;
}

Tile Wanted(const CUarrayMapInfo& operation) {
  Tile tile{};
  tile.array = reinterpret_cast<uint64_t>(operation.resource);
  tile.handle = operation.memHandle;
  if (operation.subresourceType == kMiptail) {
    const auto& tail = operation.subresource.miptail;
    tile.level = kTailLevel;
    tile.layer = tail.layer;
    tile.box = {{tail.offset, 0, 0}, {tail.offset + tail.size, 1, 1}};
    return tile;
  }
  const auto& part = operation.subresource.sparseLevel;
  tile.level = part.level;
  tile.layer = part.layer;
  const uint64_t x = part.offsetX, y = part.offsetY, z = part.offsetZ;
  tile.box = {{x, y, z}, {x + part.extentWidth, y + part.extentHeight, z + part.extentDepth}};
  return tile;
}

bool Meet(const Box& a, const Box& b) {
  for (int axis = 0; axis < kAxes; ++axis) {
    if (a.from[axis] >= b.to[axis] || b.from[axis] >= a.to[axis]) return false;
  }
  return true;
}

// Keeps the rest of a tile outside the box, in up to six tiles. False: no memory for them.
bool PutRest(const Tile& tile, const Box& box, Tiles* all) {
  Tile* rest[2 * kAxes] = {};
  int count = 0;
  Box left = tile.box;
  for (int axis = 0; axis < kAxes; ++axis) {
    for (const bool is_before : {true, false}) {
      Box piece = left;
      (is_before ? piece.to : piece.from)[axis] = (is_before ? box.from : box.to)[axis];
      if (piece.from[axis] >= piece.to[axis]) continue;
      Tile* const made = New(all);
      if (made == nullptr) {
        while (count > 0) Drop(rest[--count], all);
        return false;
      }
      const Tile& whole = tile;
      *made = {nullptr, whole.array, whole.level, whole.layer, piece, whole.handle, 0};
      rest[count++] = made;
      (is_before ? left.from : left.to)[axis] = (is_before ? box.from : box.to)[axis];
    }
  }
  for (int i = 0; i < count; ++i) {
    CountMapping(rest[i]->handle);
    Put(rest[i], all);
  }
  return true;
}

// Removes the mappings of a part. Without memory for the rest of a tile, the tile stays counted
// until the array goes.
void Unmap(const Tile& part, Tiles* all) {
  Tile* touched = nullptr;
  for (Tile** at = ChainOf(part.array, all); *at != nullptr;) {
    Tile* const tile = *at;
    const bool same_place =
        tile->array == part.array && tile->level == part.level && tile->layer == part.layer;
    if (!same_place || !Meet(tile->box, part.box)) {
      at = &tile->next;
      continue;
    }
    *at = tile->next;
    tile->next = touched;
    touched = tile;
  }
  while (touched != nullptr) {
    Tile* const tile = touched;
    touched = tile->next;
    if (PutRest(*tile, part.box, all)) {
      UncountMapping(tile->handle);
      Drop(tile, all);
    } else {
      Put(tile, all);
    }
  }
}

// Every tile of an array takes as much memory, even if part of it lies outside the array.
constexpr uint64_t kTileBytes = 64 << 10;
constexpr uint64_t kNobodyKnows = UINT64_MAX;

// A missing axis counts as one tile, whatever the program sets for it.
uint64_t InTiles(uint64_t elements, unsigned of_tile) {
  const uint64_t tiles = of_tile == 0 ? elements : (elements + of_tile - 1) / of_tile;
  return tiles == 0 ? 1 : tiles;
}

uint64_t Product(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kNobodyKnows : product;
}

CUDA_ARRAY_SPARSE_PROPERTIES PropertiesOf(const CUarrayMapInfo& operation, CUresult* result) {
  constexpr int kArray = 0, kMipmapped = 1;
  const Driver& driver = TheDriver();
  CUDA_ARRAY_SPARSE_PROPERTIES found{};
  *result = CUDA_ERROR_INVALID_VALUE;
  if (operation.resourceType == kArray) {
    *result = driver.cuArrayGetSparseProperties(&found, static_cast<CUarray>(operation.resource));
  } else if (operation.resourceType == kMipmapped) {
    *result = driver.cuMipmappedArrayGetSparseProperties(
        &found, static_cast<CUmipmappedArray>(operation.resource));
  }
  return found;
}

// The first bytes of the handle's memory, up to which a call uses it.
uint64_t UsedOf(const CUarrayMapInfo& operation) {
  uint64_t bytes = operation.subresource.miptail.size;
  if (operation.subresourceType != kMiptail) {
    CUresult result = CUDA_SUCCESS;
    const auto tile = PropertiesOf(operation, &result).tileExtent;
    if (result != CUDA_SUCCESS) return kNobodyKnows;
    const auto& part = operation.subresource.sparseLevel;
    const uint64_t tiles = Product(
        InTiles(part.extentWidth, tile.width),
        Product(InTiles(part.extentHeight, tile.height), InTiles(part.extentDepth, tile.depth)));
    bytes = Product(tiles, kTileBytes);
  }
  uint64_t end = 0;
  return __builtin_add_overflow(operation.offset, bytes, &end) ? kNobodyKnows : end;
}

// Counts the mappings of a call before it is made. False: no memory to record them, or no room for
// an import that no process is charged for; `excess` then has its size.
bool Begin(const CUarrayMapInfo* list, unsigned count, Tiles* all, Tile** begun,
           LimitExcess* excess) {
  const Uncancelled uncancelled;
  const Locked lock(&all->mutex);
  Tile** end = begun;
  for (unsigned i = 0; i < count; ++i) {
    if (list[i].memOperationType != kMap || !CountMapping(list[i].memHandle)) continue;
    if (IsImported(list[i].memHandle)) {
      *excess = CountImported(list[i].memHandle, RoundUp(UsedOf(list[i]), kChunk));
    }
    Tile* const tile = excess->bytes == 0 ? New(all) : nullptr;
    if (tile == nullptr) {
      UncountMapping(list[i].memHandle);
      return false;
    }
    *tile = Wanted(list[i]);
    tile->operation = i;
    *end = tile;
    end = &tile->next;
  }
  return true;
}

// After the driver's success.
void Finish(const CUarrayMapInfo* list, unsigned count, Tiles* all, Tile* begun) {
  const Locked lock(&all->mutex);
  for (unsigned i = 0; i < count; ++i) {
    const int type = list[i].memOperationType;
    if (type == kMap || type == kUnmap) Unmap(Wanted(list[i]), all);
    if (begun == nullptr || begun->operation != i) continue;
    Tile* const tile = begun;
    begun = tile->next;
    Put(tile, all);
  }
}

template <typename Call>
CUresult MapOwn(CUarrayMapInfo* list, unsigned count, Tiles* all, Call call) {
  Tile* begun = nullptr;
  LimitExcess excess;
  const bool may = Begin(list, count, all, &begun, &excess);
  if (excess.bytes != 0) Refuse(excess.place, excess.bytes);
  const CUresult result = may ? call(list) : CUDA_ERROR_OUT_OF_MEMORY;
  if (result == CUDA_SUCCESS) {
    Finish(list, count, all, begun);
  } else {
    UncountTiles(begun);
  }
  return result;
}

// call(list): the driver gets the copy that was read here, whatever other threads write.
template <typename Call>
CUresult MapArray(CUarrayMapInfo* list, unsigned count, Call call) {
  Tiles* const all = list == nullptr || count == 0 ? nullptr : TheTiles();
  if (all == nullptr) return call(list);
  const size_t bytes = count * sizeof *list;
  void* const own =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  memcpy(own, list, bytes);
  const CUresult result = MapOwn(static_cast<CUarrayMapInfo*>(own), count, all, call);
  munmap(own, bytes);
  return result;
}

}  // namespace

Tile* TakeTiles(uint64_t array) {
  Tiles* const all = TheTiles();
  if (all == nullptr) return nullptr;
  const Locked lock(&all->mutex);
  Tile* taken = nullptr;
  for (Tile** at = ChainOf(array, all); *at != nullptr;) {
    Tile* const tile = *at;
    if (tile->array != array) {
      at = &tile->next;
      continue;
    }
    *at = tile->next;
    tile->next = taken;
    taken = tile;
  }
  return taken;
}

void UncountTiles(Tile* tiles) {
  if (tiles == nullptr) return;
  Tiles* const all = TheTiles();
  const Locked lock(&all->mutex);
  while (tiles != nullptr) {
    Tile* const tile = tiles;
    tiles = tile->next;
    UncountMapping(tile->handle);
    Drop(tile, all);
  }
}

void PutTiles(Tile* tiles) {
  if (tiles == nullptr) return;
  Tiles* const all = TheTiles();
  const Locked lock(&all->mutex);
  while (tiles != nullptr) {
    Tile* const tile = tiles;
    tiles = tile->next;
    Put(tile, all);
  }
}

}  // namespace tessera::limiter

using tessera::limiter::TheDriver;

CUresult cuMemMapArrayAsync(CUarrayMapInfo* list, unsigned count, CUstream stream) {
  return tessera::limiter::MapArray(
      list, count, [&](auto* own) { return TheDriver().cuMemMapArrayAsync(own, count, stream); });
}
CUresult cuMemMapArrayAsync_ptsz(CUarrayMapInfo* list, unsigned count, CUstream stream) {
  return tessera::limiter::MapArray(list, count, [&](auto* own) {
    return TheDriver().cuMemMapArrayAsync_ptsz(own, count, stream);
  });
}
