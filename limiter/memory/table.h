// SPDX-License-Identifier: Apache-2.0
// This process's holdings, by address or handle. Any thread; no lock is held when a call returns.
// The table lies in memory that a forked child finds empty. It uses no allocator, since the
// program's may be in any state when the driver is called.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::limiter {

// The sort of a key. Keys of different sorts never meet.
enum class Sort : uint8_t {
  kLinear = 1,
  kHandle = 2,
  kMapping = 3,
  kArray = 4,
  kMipmapped = 5,
  kContext = 6,
  kGraph = 7,
  kModule = 8,
  kLibrary = 9,
  kHeap = 10,            // a context's memory besides its modules, by the context
  kSparse = 11,          // a sparse array; without bytes
  kGreen = 12,           // a green context; `other`: its device
  kGreenContext = 13,    // its CUcontext; `other`: the primary context
  kKernel = 14,          // a library's kernel; `other`: the library; without bytes
  kKernelWithCode = 15,  // by handle, or handle and context (launched_code.h); without bytes
  kGraphOn = 16,         // a graph's memory on device 0; the next sorts: on the next devices
  kOpened = 32,          // another process's memory: `bytes` counted here, `other` elsewhere
  kExternal = 33,        // another interface's memory; `other`: its context
  kGraphPlaces = 34,     // a graph's devices (graph_places.h); without bytes
};

// `other` of linear memory that is managed, because the card had no room.
inline constexpr uint64_t kManaged = 1;

struct Holding {
  uint64_t bytes = 0;
  uint64_t other = 0;  // a mapping's handle, an array's context, and so on
  int32_t device = -1;
  uint32_t references = 0;  // to a handle
  uint32_t mappings = 0;    // of a handle's memory; for linear memory: exports
  uint32_t tag = 0;         // the last tag (contents.h); a handle's state (virtual.cc)
};

class Table {
 public:
  // False: no memory, or the key is there already.
  bool Add(Sort sort, uint64_t key, const Holding& holding);
  // False: it is not there.
  bool Take(Sort sort, uint64_t key, Holding* holding);
  bool Find(Sort sort, uint64_t key, Holding* holding);
  // Adds to both counts and to the bytes. A holding without counts is removed; it is in *after.
  // False: not there.
  bool Count(Sort sort, uint64_t key, int references, int mappings, uint64_t bytes, Holding* after);
  // Tags the present holding: a later one of the same key has another tag.
  void Tag(Sort sort, uint64_t key, uint32_t tag);
  // False: not there, or another tag.
  bool TakeTagged(Sort sort, uint64_t key, uint32_t tag, Holding* holding);
  // Sets `other`. False: not there.
  bool Mark(Sort sort, uint64_t key, uint64_t other);
  // A copy of all keys of a sort, followed by zeros. The caller unmaps kKeySize * *count bytes.
  // Null: none, or no memory.
  uint64_t* Keys(Sort sort, size_t* count);
  static constexpr size_t kKeySize = sizeof(uint64_t);

 private:
  struct Entry {
    uint64_t key;  // 0: none
    Holding holding;
  };
  struct alignas(64) Shard {
    uint32_t locked;
    uint32_t count;
    size_t size;  // a power of two
    Entry* entries;
  };
  class Guard;

  static constexpr size_t kShards = 64;

  Shard& ShardOf(uint64_t key, uint64_t* hash);
  static Entry* Lookup(const Shard& shard, uint64_t key, uint64_t hash);
  static bool MakeRoom(Shard* shard);
  static void Erase(Shard* shard, Entry* entry);

  Shard shards_[kShards];
};

// This process's; null: there is no memory.
Table* TheTable();

}  // namespace tessera::limiter
