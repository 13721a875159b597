// SPDX-License-Identifier: Apache-2.0
// Device memory's addresses: one range for the whole process, in chunks of 2 MiB, and cuMemAlloc's
// blocks in them. Blocks of up to 1 MiB share chunks, in units of 512 bytes, as with the driver. A
// chunk without blocks goes back to the card. Any thread.
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

// For short sections. A waiting thread yields the processor.
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
  kImported,  // another process's or interface's memory
  kReserved,  // addresses without memory
  kPool,      // a segment of a pool
};

struct SmallBlocks;
class Heap;

// A range of whole chunks, stored at its first chunk.
struct Range {
  Kind kind = Kind::kNone;
  uint8_t device = 0;  // its number in this process
  uint32_t chunks = 0;
  uint64_t bytes = 0;     // as the caller asked
  uint64_t resident = 0;  // bytes of the card
  Heap* heap = nullptr;   // the heap that it belongs to; null: none
  CUmemPoolHandle_st* pool = nullptr;
  SmallBlocks* small = nullptr;
  ObjectName object = {};  // a block that was exported; else none
};

// The block around an address.
struct Block {
  uint64_t address = 0;
  uint64_t bytes = 0;
  Range range;
};

// The process's device addresses. Never destroyed. The caller of each function holds lock(). It is
// the last lock that the driver takes; only State and Objects take locks after it.
class Space {
 public:
  static Space& The();
  SpinLock& lock() { return lock_; }
  // Returns the range's address. 0: there is no room.
  uint64_t Reserve(uint64_t bytes, const Range& range);
  void Free(uint64_t address);
  // The range that begins at the address's chunk. Null: none.
  Range* At(uint64_t address);
  // The range around the address, and its beginning. Null: none.
  Range* In(uint64_t address, uint64_t& begin);
  // Calls `each` with each range and its beginning. `each` may free that range.
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
  uint32_t next_ = 1;                                         // the first chunk that was never used
  Range* ranges_ = nullptr;                                   // by chunk
  std::unordered_map<uint32_t, std::vector<uint32_t>> free_;  // freed ranges, by number of chunks
  std::array<std::vector<uint32_t>, 64> free_small_;          // those of fewer than 64 chunks
};

// The blocks of one context, which owns it.
class Heap {
 public:
  Heap(CUctx_st* context, State& state, unsigned card, uint8_t device)
      : context_(context), state_(state), card_(card), device_(device) {}
  CUctx_st* context() const { return context_; }
  // 0: the card has too little memory.
  uint64_t Allocate(uint64_t bytes);
  // Takes only as much of the card as is free: managed memory may exceed the card. The host can
  // read and write it. 0: there is no address left.
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
  std::vector<SmallBlocks*> spare_;    // of freed chunks, for new ones
};

// Frees a block of any heap. False: none begins there.
bool FreeBlock(uint64_t address);
std::optional<Block> FindBlock(uint64_t address);
// Exports the block at the address, or returns its object again. None for a small block, because it
// shares its chunk.
ObjectName ExportBlock(uint64_t address);

}  // namespace tessera::fake_cuda
