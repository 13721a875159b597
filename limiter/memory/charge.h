// SPDX-License-Identifier: Apache-2.0
// Counts an allocation: it is reserved before the driver is called, so that no other process takes
// the room in between. If the driver refuses, the reservation is undone. Any thread.
#pragma once

#include <time.h>

#include "limiter/accounting/accounting.h"
#include "limiter/accounting/cancel.h"
#include "limiter/driver/driver.h"
#include "limiter/driver/relaxed.h"
#include "limiter/memory/chunks.h"
#include "limiter/memory/devices.h"
#include "limiter/memory/graphs.h"
#include "limiter/memory/passed.h"
#include "limiter/memory/pool_ends.h"
#include "limiter/memory/table.h"

namespace tessera::limiter {

inline uint64_t RoundUp(uint64_t bytes, uint64_t to) {
  return bytes > UINT64_MAX - to ? UINT64_MAX : (bytes + to - 1) / to * to;
}

// Makes the driver give back memory that pools and graphs keep unused. True: there is more room
// now.
inline bool Trim(int place) {
  const Relaxed relaxed;
  const bool of_pools = TrimPools(place);
  return TrimGraphs(place) || of_pools;
}

// False: past the limit, even after a trim. Logs nothing.
inline bool TryReserveOrTrim(int place, uint64_t bytes, Kind kind) {
  if (TryReserve(place, bytes, kind)) [[likely]]
    return true;
  return Trim(place) && TryReserve(place, bytes, kind);
}

// TryReserveOrTrim(), and logs a refusal.
inline bool ReserveOrTrim(int place, uint64_t bytes, Kind kind = Kind::kData) {
  return TryReserveOrTrim(place, bytes, kind) || Refuse(place, bytes);
}

// The kind under which a sort of memory is counted.
constexpr Kind MemoryKindOf(Sort sort) {
  const bool is_code = sort == Sort::kModule || sort == Sort::kLibrary || sort == Sort::kHeap;
  const bool is_context = sort == Sort::kContext || sort == Sort::kGreen;
  return is_code ? Kind::kModule : is_context ? Kind::kContext : Kind::kData;
}

// Uncounts a holding that is gone here; other processes may still hold its memory.
inline void GiveUp(Sort sort, const Holding& holding, const MemoryRelease& parting) {
  if (sort == Sort::kLinear && holding.other == kManaged) [[unlikely]]
    ShowManaged(holding.device, -static_cast<int64_t>(holding.bytes));
  if (sort == Sort::kLinear && holding.mappings != 0) [[unlikely]]
    return parting.GiveUp(holding.bytes, SharedBy::kOpening);
  Release(holding.device, holding.bytes, MemoryKindOf(sort));
  if (sort == Sort::kOpened && holding.other != 0) [[unlikely]]
    parting.GiveBack(holding.other);
}

// Records an allocation. An older entry of this key went without a call of the program, with its
// context, and is uncounted. False: no memory for the entry.
inline bool Remember(Sort sort, uint64_t key, const Holding& holding) {
  Table* const table = TheTable();
  if (table == nullptr) return false;
  if (table->Add(sort, key, holding)) [[likely]]
    return true;
  Holding former;
  if (!table->Take(sort, key, &former)) return false;
  GiveUp(sort, former, MemoryRelease(former.device, false));
  return table->Add(sort, key, holding);
}

// Waits a moment for the driver to free a dead process's memory.
inline void PauseForTheDead() {
  const Uncancelled uncancelled;
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 5'000'000};
  nanosleep(&kMoment, nullptr);
}

// Calls the driver; repeats the call while it may still be freeing a dead process's memory.
template <typename Call>
CUresult Patiently(Call call) {
  CUresult result = call();
  for (int i = 0; i < 40 && result == CUDA_ERROR_OUT_OF_MEMORY && ReapedLately(); ++i) {
    PauseForTheDead();
    result = call();
  }
  return result;
}

// Runs body(out), whose answer goes to a variable of our own. So no other thread of the program
// overwrites it before it is read. Null if the program passed null.
template <typename T, typename Body>
CUresult Answered(T* out, Body body) {
  T own{};
  const CUresult result = body(out == nullptr ? nullptr : &own);
  if (result == CUDA_SUCCESS && out != nullptr) [[likely]]
    *out = own;
  return result;
}

// Allocates memory of a place from the driver. undo() gives it back if it cannot be recorded.
template <typename Key, typename Call, typename Undo>
CUresult Allocate(Sort sort, int place, uint64_t bytes, const Key* key, Call call, Undo undo,
                  uint64_t other = 0) {
  if (place < 0) return call();
  if (!ReserveOrTrim(place, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = Patiently(call);
  if (result != CUDA_SUCCESS) [[unlikely]] {
    Release(place, bytes, Kind::kData);
    return result;
  }
  if (!Remember(sort, (uint64_t)(*key), {.bytes = bytes, .other = other, .device = place}))
      [[unlikely]] {
    undo();
    Release(place, bytes, Kind::kData);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return CUDA_SUCCESS;
}

// Set once memory of another process was opened here; never cleared.
inline constinit std::atomic<bool> any_is_opened{false};

// Closes another process's memory by call(). An unknown key is left to the driver.
template <typename Call>
CUresult Close(uint64_t key, Call call) {
  Holding after;
  Table* const table = TheTable();
  const bool known = table != nullptr && table->Count(Sort::kOpened, key, -1, 0, 0, &after);
  const bool is_last = known && after.references == 0;
  const MemoryRelease parting(is_last ? after.device : -1);
  const CUresult result = call();
  if (result == CUDA_SUCCESS && is_last) {
    GiveUp(Sort::kOpened, after, parting);
  } else if (result != CUDA_SUCCESS && known) {
    after.references = 1;
    if (!is_last || !table->Add(Sort::kOpened, key, after)) {
      table->Count(Sort::kOpened, key, 1, 0, 0, &after);
    }
  }
  return result;
}

// Frees memory by call(). An unknown key is left to the driver.
template <typename Call>
CUresult Free(Sort sort, uint64_t key, Call call) {
  Holding holding;
  Table* const table = TheTable();
  // Removed before the driver's call: after it, another thread may get the same address at once.
  const bool known = table != nullptr && table->Take(sort, key, &holding);
  if (!known) {
    const bool may_be_opened = any_is_opened.load(std::memory_order_acquire);
    return sort == Sort::kLinear && may_be_opened ? Close(key, call) : call();
  }
  const bool is_exported = sort == Sort::kLinear && holding.mappings != 0;
  const MemoryRelease parting(is_exported ? holding.device : -1);
  const CUresult result = call();
  if (result == CUDA_SUCCESS) [[likely]] {
    GiveUp(sort, holding, parting);
  } else {
    table->Add(sort, key, holding);
  }
  return result;
}

// Frees the linear memory of a pointer.
template <typename Call>
CUresult FreeLinear(CUdeviceptr pointer, Call call) {
  Chunk* const chunk = BeginFree(pointer);
  if (chunk == nullptr) return Free(Sort::kLinear, pointer, call);
  const CUresult result = call();
  EndFree(chunk, result == CUDA_SUCCESS);
  return result;
}

}  // namespace tessera::limiter
