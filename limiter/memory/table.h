// SPDX-License-Identifier: Apache-2.0
// What this process holds: by address or handle, how much of which device. Any thread; no lock is
// held when a call returns. In memory of its own, which a forked child finds empty: a program's
// allocator may be in any state when the driver is called.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::limiter {

// What a key is of. Keys of different sorts never meet.
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
  kHeap = 10,            // what a context took beside its modules, by the context
  kSparse = 11,          // an array that has what is mapped into it, by itself; without bytes
  kGreen = 12,           // a green context, and its device
  kGreenContext = 13,    // what it is among contexts, and the primary one
  kKernel = 14,          // a kernel of a library, and the library; without bytes
  kKernelWithCode = 15,  // by handle, or handle and context (launched_code.h); without bytes
  kGraphOn = 16,   // what a graph takes of device 0; the sorts behind it are of the next devices
  kOpened = 32,    // of another process, by its address: `bytes` counted here, `other` for others
  kExternal = 33,  // of another interface, and its context
  kGraphPlaces = 34,  // where a graph's kernels run (graph_places.h); without bytes
};

// Of linear memory: the card had no room for it.
inline constexpr uint64_t kManaged = 1;

struct Holding {
  uint64_t bytes = 0;
  uint64_t other = 0;  // of a mapping its handle, of an array its context, and so on
  int32_t device = -1;
  uint32_t references = 0;  // of a handle: to itself
  uint32_t mappings = 0;    // of a handle: of its memory; of linear memory: how often exported
  uint32_t tag = 0;         // whoever tagged it last (contents.h), of a handle (virtual.cc)
};

class Table {
 public:
  // False: there is no memory for it, or the key is there already.
  bool Add(Sort sort, uint64_t key, const Holding& holding);
  // False: it is not there.
  bool Take(Sort sort, uint64_t key, Holding* holding);
  bool Find(Sort sort, uint64_t key, Holding* holding);
  // Adds to both counts, and to bytes. With no count left the holding is taken, and is *after.
  // False: it is not there.
  bool Count(Sort sort, uint64_t key, int references, int mappings, uint64_t bytes, Holding* after);
  // Tags what is there now: what comes to the same key later is something else.
  void Tag(Sort sort, uint64_t key, uint32_t tag);
  // False: it is not there, or does not have this tag.
  bool TakeTagged(Sort sort, uint64_t key, uint32_t tag, Holding* holding);
  // Writes its `other`. False: it is not there.
  bool Mark(Sort sort, uint64_t key, uint64_t other);
  // A copy of all keys of a sort, with zeros behind them; kKeySize * *count bytes, the caller
  // unmaps them. Null: there are none, or no memory.
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
