// SPDX-License-Identifier: Apache-2.0
// Where device memory lies: one range of addresses for the whole process, in chunks of 2 MiB, and
// in them the blocks of cuMemAlloc. Blocks of up to 1 MiB share chunks in units of 512 bytes, as
// the driver's do; a chunk without blocks goes back to the card. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cuda/state.h"

struct CUctx_st;
struct CUmemPoolHandle_st;

namespace tessera::fake_cuda {

inline constexpr uint64_t kChunk = uint64_t{2} << 20;
inline constexpr uint64_t kUnit = 512;

inline uint64_t RoundUp(uint64_t bytes, uint64_t to) {
  return (bytes + to - 1) / to * to;
}

// For sections of some ns.
class SpinLock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) {
      while (held_.load(std::memory_order_relaxed)) Pause();
    }
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  static void Pause();
  std::atomic<bool> held_ = false;
};

enum class Kind : uint8_t {
  kNone,
  kShared,  // small blocks
  kBlock,   // one block of cuMemAlloc
  kManaged,
  kImported,  // of another process
  kReserved,  // addresses alone
  kPool,      // a segment of a pool
};

struct SmallBlocks;
class Heap;

// What begins at a chunk.
struct Range {
  Kind kind = Kind::kNone;
  uint8_t device = 0;  // of this process
  uint32_t chunks = 0;
  uint64_t bytes = 0;     // as asked for
  uint64_t resident = 0;  // of the card
  Heap* heap = nullptr;   // whose it is, where it is of one
  CUmemPoolHandle_st* pool = nullptr;
  SmallBlocks* small = nullptr;
  ObjectName object = {};  // none: it was not exported, or is of a process that did not
};

// One that was found by an address in it.
struct Block {
  uint64_t address = 0;
  uint64_t bytes = 0;
  Range range;
};

// The addresses. Whoever calls holds the lock.
class Space {
 public:
  static Space& The();
  SpinLock& lock() { return lock_; }
  // Where the range is now; 0: there is no room.
  uint64_t Reserve(uint64_t bytes, const Range& range);
  void Free(uint64_t address);
  // What begins at the chunk that the address is in; null: the address is none of these.
  Range* At(uint64_t address);
  // What the address is in, and where that begins; null: nothing.
  Range* In(uint64_t address, uint64_t& begin);
  // Each range's beginning is given; it may be freed.
  template <class Each>
  void ForEach(const Each& each) {
    for (uint32_t chunk = 1; chunk < next_; ++chunk) {
      if (ranges_[chunk].kind != Kind::kNone) each(base_ + chunk * kChunk, ranges_[chunk]);
    }
  }

 private:
  Space();

  SpinLock lock_;
  uint64_t base_ = 0;
  uint32_t next_ = 1;  // from here on none was ever used
  Range* ranges_ = nullptr;
  std::unordered_map<uint32_t, std::vector<uint32_t>> free_;  // chunks, by how many they are
  std::array<std::vector<uint32_t>, 64> free_small_;          // likewise, of the few
};

// The blocks of one context.
class Heap {
 public:
  Heap(CUctx_st* context, State& state, unsigned card, uint8_t device)
      : context_(context), state_(state), card_(card), device_(device) {}
  CUctx_st* context() const { return context_; }
  // 0: the card has no more.
  uint64_t Allocate(uint64_t bytes);
  // As much of it is on the card as that has; the host may touch it.
  uint64_t AllocateManaged(uint64_t bytes);
  void Clear();  // frees what is left

 private:
  friend bool FreeBlock(uint64_t address);
  friend ObjectName ExportBlock(uint64_t address);
  uint64_t AllocateSmall(uint64_t bytes);
  SmallBlocks* NewShared();
  void FreeSmall(uint64_t address, uint64_t begin, Range& range);
  void FreeWhole(uint64_t begin, Range& range);
  void FreeShared(uint64_t begin, Range& range);

  CUctx_st* const context_;
  State& state_;
  const unsigned card_;
  const uint8_t device_;
  std::vector<SmallBlocks*> partial_;  // shared chunks with room
  std::vector<SmallBlocks*> spare_;    // of chunks that went back
};

// Of any heap. False: no block begins there.
bool FreeBlock(uint64_t address);
std::optional<Block> FindBlock(uint64_t address);
// One that is exported, if it is alone in its chunks: none else.
ObjectName ExportBlock(uint64_t address);

}  // namespace tessera::fake_cuda
