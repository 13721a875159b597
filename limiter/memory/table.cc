// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/table.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "limiter/accounting/process_memory.h"

namespace tessera::limiter {
namespace {

// An address has 57 bits; the sort is above them.
uint64_t Key(Sort sort, uint64_t key) {
  return (uint64_t{static_cast<uint8_t>(sort)} << 58) ^ key;
}

uint64_t Mix(uint64_t key) {
  key ^= key >> 32;
  key *= 0x9e3779b97f4a7c15;
  return key ^ (key >> 29);
}

}  // namespace

// A spin lock, held for a few instructions: a thread that finds it taken yields.
class Table::Guard {
 public:
  explicit Guard(Shard* shard) : shard_(*shard) {
    for (int i = 0; __atomic_exchange_n(&shard_.locked, 1, __ATOMIC_ACQUIRE) != 0; ++i) {
      if (i > 100) sched_yield();
    }
  }
  ~Guard() { __atomic_store_n(&shard_.locked, 0, __ATOMIC_RELEASE); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Shard& shard_;
};

Table::Shard& Table::ShardOf(uint64_t key, uint64_t* hash) {
  *hash = Mix(key);
  return shards_[*hash % kShards];
}

Table::Entry* Table::Lookup(const Shard& shard, uint64_t key, uint64_t hash) {
  if (shard.size == 0) return nullptr;
  for (size_t at = hash / kShards;; ++at) {
    Entry* const entry = &shard.entries[at & (shard.size - 1)];
    if (entry->key == key) return entry;
    if (entry->key == 0) return nullptr;
  }
}

// Keeps at least half of the places free.
bool Table::MakeRoom(Shard* shard) {
  if (2 * (shard->count + size_t{1}) <= shard->size) return true;
  const size_t size = shard->size == 0 ? 64 : 2 * shard->size;
  void* const memory = mmap(nullptr, size * sizeof(Entry), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  auto* const entries = static_cast<Entry*>(memory);
  for (size_t i = 0; i < shard->size; ++i) {
    const Entry& entry = shard->entries[i];
    if (entry.key == 0) continue;
    size_t at = Mix(entry.key) / kShards;
    while (entries[at & (size - 1)].key != 0) ++at;
    entries[at & (size - 1)] = entry;
  }
  if (shard->size != 0) munmap(shard->entries, shard->size * sizeof(Entry));
  shard->entries = entries;
  shard->size = size;
  return true;
}

// Moves up the entries that were displaced past the hole, so that no search ends too early.
void Table::Erase(Shard* shard, Entry* entry) {
  const size_t mask = shard->size - 1;
  auto hole = static_cast<size_t>(entry - shard->entries);
  for (size_t at = (hole + 1) & mask; shard->entries[at].key != 0; at = (at + 1) & mask) {
    const size_t home = (Mix(shard->entries[at].key) / kShards) & mask;
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      shard->entries[hole] = shard->entries[at];
      hole = at;
    }
  }
  shard->entries[hole].key = 0;
  --shard->count;
}

bool Table::Add(Sort sort, uint64_t key, const Holding& holding) {
  const uint64_t whole = Key(sort, key);
  uint64_t hash;
  Shard& shard = ShardOf(whole, &hash);
  const Guard guard(&shard);
  if (!MakeRoom(&shard)) return false;
  size_t at = hash / kShards;
  for (;; ++at) {
    const uint64_t taken = shard.entries[at & (shard.size - 1)].key;
    if (taken == whole) return false;
    if (taken == 0) break;
  }
  shard.entries[at & (shard.size - 1)] = {whole, holding};
  ++shard.count;
  return true;
}

bool Table::Take(Sort sort, uint64_t key, Holding* holding) {
  const uint64_t whole = Key(sort, key);
  uint64_t hash;
  Shard& shard = ShardOf(whole, &hash);
  const Guard guard(&shard);
  Entry* const entry = Lookup(shard, whole, hash);
  if (entry == nullptr) return false;
  *holding = entry->holding;
  Erase(&shard, entry);
  return true;
}

bool Table::Find(Sort sort, uint64_t key, Holding* holding) {
  const uint64_t whole = Key(sort, key);
  uint64_t hash;
  Shard& shard = ShardOf(whole, &hash);
  const Guard guard(&shard);
  const Entry* const entry = Lookup(shard, whole, hash);
  if (entry != nullptr) *holding = entry->holding;
  return entry != nullptr;
}

bool Table::Count(Sort sort, uint64_t key, int references, int mappings, uint64_t bytes,
                  Holding* after) {
  const uint64_t whole = Key(sort, key);
  uint64_t hash;
  Shard& shard = ShardOf(whole, &hash);
  const Guard guard(&shard);
  Entry* const entry = Lookup(shard, whole, hash);
  if (entry == nullptr) return false;
  Holding& holding = entry->holding;
  holding.references += static_cast<uint32_t>(references);
  holding.mappings += static_cast<uint32_t>(mappings);
  holding.bytes += bytes;
  *after = holding;
  if (holding.references == 0 && holding.mappings == 0) Erase(&shard, entry);
  return true;
}

void Table::Tag(Sort sort, uint64_t key, uint32_t tag) {
  const uint64_t whole = Key(sort, key);
  uint64_t hash;
  Shard& shard = ShardOf(whole, &hash);
  const Guard guard(&shard);
  Entry* const entry = Lookup(shard, whole, hash);
  if (entry != nullptr) entry->holding.tag = tag;
}

bool Table::TakeTagged(Sort sort, uint64_t key, uint32_t tag, Holding* holding) {
  const uint64_t whole = Key(sort, key);
  uint64_t hash;
  Shard& shard = ShardOf(whole, &hash);
  const Guard guard(&shard);
  Entry* const entry = Lookup(shard, whole, hash);
  if (entry == nullptr || entry->holding.tag != tag) return false;
  *holding = entry->holding;
  Erase(&shard, entry);
  return true;
}

bool Table::Mark(Sort sort, uint64_t key, uint64_t other) {
  const uint64_t whole = Key(sort, key);
  uint64_t hash;
  Shard& shard = ShardOf(whole, &hash);
  const Guard guard(&shard);
  Entry* const entry = Lookup(shard, whole, hash);
  if (entry != nullptr) entry->holding.other = other;
  return entry != nullptr;
}

uint64_t* Table::Keys(Sort sort, size_t* count) {
  // Keys that are added meanwhile may not fit, and are left out.
  size_t room = 0;
  for (const Shard& shard : shards_) room += __atomic_load_n(&shard.count, __ATOMIC_RELAXED);
  *count = 0;
  if (room == 0) return nullptr;
  void* const memory =
      mmap(nullptr, room * kKeySize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const keys = static_cast<uint64_t*>(memory);
  for (Shard& shard : shards_) {
    const Guard guard(&shard);
    for (size_t i = 0; i < shard.size && *count < room; ++i) {
      const uint64_t key = shard.entries[i].key;
      if (key != 0 && key >> 58 == static_cast<uint8_t>(sort)) keys[(*count)++] = Key(sort, key);
    }
  }
  // The caller unmaps the whole room.
  for (size_t i = *count; i < room; ++i) keys[i] = 0;
  *count = room;
  return keys;
}

Table* TheTable() {
  static constinit ProcessMemory<Table> table;
  return table.Get();
}

}  // namespace tessera::limiter
