// SPDX-License-Identifier: Apache-2.0
#include "cuda/pools.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "cuda/engine.h"

namespace tessera::fake_cuda {
namespace {

using Pool = CUmemPoolHandle_st;
constexpr uint64_t kSegment = uint64_t{32} << 20;

bool IsUsable(const Pool& pool, const Piece& piece, CUstream stream) {
  return (piece.freed_in == stream && stream != nullptr) || IsReached(pool.card, piece.freed_at);
}

// The functions from here to GivePiece need the pool's mutex.
bool AddSegment(Pool& pool, uint64_t bytes) {
  State& state = *TheDriver()->state;
  if (pool.most > 0 && pool.reserved + bytes > pool.most) return false;
  if (!pool.on_host && !state.Take(pool.card, bytes)) return false;
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  const uint64_t begin = space.Reserve(bytes, {.kind = Kind::kPool,
                                               .device = static_cast<uint8_t>(pool.device),
                                               .bytes = bytes,
                                               .resident = pool.on_host ? 0 : bytes,
                                               .pool = &pool});
  if (begin == 0) return false;
  pool.segments[begin] = {.bytes = bytes};
  pool.pieces[begin] = {.segment = begin, .bytes = bytes};
  pool.free.emplace(bytes, begin);
  pool.reserved += bytes;
  pool.most_reserved = std::max(pool.most_reserved, pool.reserved);
  return true;
}

void DropSegment(Pool& pool, uint64_t begin) {
  const Segment segment = pool.segments[begin];
  for (auto piece = pool.pieces.lower_bound(begin);
       piece != pool.pieces.end() && piece->second.segment == begin;) {
    pool.free.erase({piece->second.bytes, piece->first});
    piece = pool.pieces.erase(piece);
  }
  pool.segments.erase(begin);
  pool.reserved -= segment.bytes;
  pool.used -= segment.used;
  {
    Space& space = Space::The();
    const std::lock_guard lock(space.lock());
    space.Free(begin);
  }
  State& state = *TheDriver()->state;
  if (!segment.object.is_none()) {
    state.objects().LetGo(segment.object);
  } else if (!pool.on_host) {
    state.Give(pool.card, segment.bytes);
  }
}

// Frees unused segments, until at most `keep` bytes are left. The work before a piece's free must
// be done too.
void Trim(Pool& pool, uint64_t keep) {
  std::vector<uint64_t> unused;
  for (const auto& [begin, segment] : pool.segments) {
    const auto piece = pool.pieces.find(begin);
    if (segment.used == 0 && IsReached(pool.card, piece->second.freed_at)) unused.push_back(begin);
  }
  for (const uint64_t begin : unused) {
    if (pool.reserved <= keep) return;
    DropSegment(pool, begin);
  }
}

uint64_t TakePiece(Pool& pool, uint64_t bytes, CUstream stream) {
  constexpr int kTries = 16;
  auto fit = pool.free.lower_bound({bytes, 0});
  for (int tries = 0; fit != pool.free.end() && tries < kTries; ++fit, ++tries) {
    const auto found = pool.pieces.find(fit->second);
    Piece& piece = found->second;
    if (!IsUsable(pool, piece, stream)) continue;
    pool.free.erase(fit);
    if (piece.bytes > bytes) {
      Piece rest = piece;
      rest.bytes -= bytes;
      pool.free.emplace(rest.bytes, found->first + bytes);
      pool.pieces.emplace_hint(std::next(found), found->first + bytes, rest);
      piece.bytes = bytes;
    }
    piece.used = true;
    return found->first;
  }
  return 0;
}

// Joins two neighbouring free pieces of one segment. Returns the piece that has the right one's
// end.
using PieceIterator = std::map<uint64_t, Piece>::iterator;
PieceIterator Join(Pool& pool, PieceIterator left, PieceIterator right) {
  if (left->second.used || right->second.used) return right;
  if (left->second.segment != right->second.segment) return right;
  for (const auto& one : {left, right}) pool.free.erase({one->second.bytes, one->first});
  if (left->second.freed_in != right->second.freed_in) left->second.freed_in = nullptr;
  left->second.freed_at = std::max(left->second.freed_at, right->second.freed_at);
  left->second.bytes += right->second.bytes;
  pool.pieces.erase(right);
  pool.free.emplace(left->second.bytes, left->first);
  return left;
}

bool GivePiece(Pool& pool, uint64_t address, CUstream stream) {
  auto piece = pool.pieces.find(address);
  if (piece == pool.pieces.end() || !piece->second.used) return false;
  const uint64_t bytes = piece->second.bytes;
  pool.used -= bytes;
  pool.segments[piece->second.segment].used -= bytes;
  piece->second.used = false;
  piece->second.freed_in = stream;
  piece->second.freed_at = stream == nullptr ? 0 : stream->tail.load();
  pool.free.emplace(bytes, address);
  if (piece != pool.pieces.begin()) piece = Join(pool, std::prev(piece), piece);
  if (std::next(piece) != pool.pieces.end()) Join(pool, piece, std::next(piece));
  return true;
}

Pool* PoolAt(uint64_t address) {
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  uint64_t begin = 0;
  const Range* range = space.In(address, begin);
  return range == nullptr || range->kind != Kind::kPool ? nullptr : range->pool;
}

struct Pools {
  std::mutex mutex;  // guards the members below
  std::deque<Pool> all;
  std::vector<Pool*> defaults;  // by device
  std::vector<Pool*> current;   // by device
};
Pools& ThePools() {
  static auto* const pools = new Pools();
  return *pools;
}

// With the pools' mutex held. It is taken before a pool's own.
Pool* DefaultOf(Pools& pools, int device) {
  const size_t count = TheDriver()->node.devices.size();
  pools.defaults.resize(count);
  pools.current.resize(count);
  Pool*& one = pools.defaults[static_cast<size_t>(device)];
  if (one == nullptr) {
    one = &pools.all.emplace_back();
    one->device = device;
    one->card = TheDriver()->node.devices[static_cast<size_t>(device)].card;
    one->is_default = true;
    pools.current[static_cast<size_t>(device)] = one;
  }
  return one;
}

template <class Each>
void ForEachOf(int device, const Each& each) {
  Pools& pools = ThePools();
  const std::lock_guard lock(pools.mutex);
  for (Pool& pool : pools.all) {
    if (pool.device != device) continue;
    const std::lock_guard pool_lock(pool.mutex);
    each(pool);
  }
}

void Clear(Pool& pool) {
  while (!pool.segments.empty()) DropSegment(pool, pool.segments.begin()->first);
}

}  // namespace

uint64_t AllocatePooled(Pool& pool, uint64_t bytes, CUstream stream) {
  const uint64_t rounded = RoundUp(bytes, kUnit);
  const std::lock_guard lock(pool.mutex);
  if (!pool.alive || rounded < bytes) return 0;
  uint64_t address = TakePiece(pool, rounded, stream);
  if (address == 0) {
    const uint64_t whole = RoundUp(rounded, kChunk);
    bool added = AddSegment(pool, std::max(whole, kSegment));
    if (!added) {
      Trim(pool, 0);
      added = AddSegment(pool, whole);
    }
    if (added) address = TakePiece(pool, rounded, stream);
  }
  if (address == 0) return 0;
  pool.segments[pool.pieces[address].segment].used += rounded;
  pool.used += rounded;
  pool.most_used = std::max(pool.most_used, pool.used);
  return address;
}

bool FreePooledIn(uint64_t address, CUstream stream) {
  Pool* pool = PoolAt(address);
  if (pool == nullptr) return false;
  const std::lock_guard lock(pool->mutex);
  const bool given = GivePiece(*pool, address, stream);
  if (given && !pool->alive) Trim(*pool, 0);
  return given;
}

bool FreePooled(uint64_t address) {
  return FreePooledIn(address, nullptr) || FreeImported(address);
}

std::optional<Found> FindInPools(uint64_t address) {
  Pool* pool = PoolAt(address);
  if (pool == nullptr) return std::nullopt;
  const std::lock_guard lock(pool->mutex);
  auto piece = pool->pieces.upper_bound(address);
  if (piece == pool->pieces.begin()) return std::nullopt;
  --piece;
  if (!piece->second.used || address - piece->first >= piece->second.bytes) return std::nullopt;
  return Found{.begin = piece->first,
               .bytes = piece->second.bytes,
               .device = pool->device,
               .context = PrimaryOf(pool->device),
               .pool = pool};
}

ObjectName ExportSegment(uint64_t address) {
  Pool* const pool = PoolAt(address);
  if (pool == nullptr || pool->on_host) return {};
  const std::lock_guard lock(pool->mutex);
  auto segment = pool->segments.upper_bound(address);
  if (segment == pool->segments.begin()) return {};
  Segment& found = std::prev(segment)->second;
  if (found.object.is_none()) found.object = TheDriver()->state->Export(pool->card, found.bytes);
  return found.object;
}

CUmemoryPool PoolOf(int device) {
  Pools& pools = ThePools();
  const std::lock_guard lock(pools.mutex);
  DefaultOf(pools, device);
  return pools.current[static_cast<size_t>(device)];
}

CUmemoryPool DefaultPoolOf(int device) {
  Pools& pools = ThePools();
  const std::lock_guard lock(pools.mutex);
  return DefaultOf(pools, device);
}

void SetPoolOf(int device, CUmemoryPool pool) {
  Pools& pools = ThePools();
  const std::lock_guard lock(pools.mutex);
  DefaultOf(pools, device);
  pools.current[static_cast<size_t>(device)] = pool;
}

CUmemoryPool NewPool(int device, bool on_host, uint64_t most) {
  Pools& pools = ThePools();
  const std::lock_guard lock(pools.mutex);
  Pool& pool = pools.all.emplace_back();
  pool.device = device;
  pool.card = TheDriver()->node.devices[static_cast<size_t>(device)].card;
  pool.on_host = on_host;
  pool.most = most;
  return &pool;
}

bool IsPool(CUmemoryPool pool) {
  Pools& pools = ThePools();
  const std::lock_guard lock(pools.mutex);
  return std::ranges::any_of(pools.all, [&](Pool& one) { return &one == pool && one.alive; });
}

void DestroyPool(CUmemoryPool pool) {
  if (PoolOf(pool->device) == pool) SetPoolOf(pool->device, DefaultPoolOf(pool->device));
  const std::lock_guard lock(pool->mutex);
  pool->alive = false;
  Trim(*pool, 0);  // allocations stay until they are freed and their streams have reached that
}

void TrimPool(CUmemoryPool pool, uint64_t keep) {
  const std::lock_guard lock(pool->mutex);
  Trim(*pool, keep);
}

void ReleaseUnused(int device) {
  ForEachOf(device, [](Pool& pool) { Trim(pool, pool.alive ? pool.threshold : 0); });
}

void DropPoolsOf(CUcontext context) {
  if (context->primary) ForEachOf(context->device, [](Pool& pool) { Clear(pool); });
}

}  // namespace tessera::fake_cuda
