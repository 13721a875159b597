// SPDX-License-Identifier: Apache-2.0
// Virtual memory. The bytes belong to the handle, and are free when neither handle nor mapping is
// left. A handle may be released while its memory stays mapped. Exported memory may then be held by
// others. Imported memory is counted for its maker, otherwise here as far as it is mapped.
#include "limiter/memory/virtual.h"

#include "limiter/accounting/cancel.h"
#include "limiter/accounting/mutex.h"
#include "limiter/accounting/process_memory.h"
#include "limiter/memory/charge.h"
#include "limiter/memory/opened.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

// The tags of handles. An imported handle has `bytes` counted here, and `other` counted for others.
constexpr uint32_t kOwn = 0, kExported = 1, kImported = 2;

// Set once a handle was exported or imported; never cleared.
constinit std::atomic<bool> any_is_passed{false};

int PlaceOf(const CUmemAllocationProp* wanted) {
  return wanted == nullptr ? -1 : PlaceOfLocation(wanted->location);
}

void FreeIfUnused(const Holding& after, const MemoryRelease& parting) {
  if (after.references != 0 || after.mappings != 0) return;
  if (after.tag == kExported) return parting.GiveUp(after.bytes, SharedBy::kDescriptor);
  Release(after.device, after.bytes, Kind::kData);
  if (after.tag == kImported && (after.other != 0 || after.bytes == 0)) {
    parting.GiveBack(after.other);
  }
}

// A handle's number may be used again while the former memory is still mapped. Both are then held
// until neither is in use.
bool RememberHandle(CUmemGenericAllocationHandle handle, int place, uint64_t bytes) {
  Table* const table = TheTable();
  if (table == nullptr) return false;
  Holding after;
  return table->Count(Sort::kHandle, handle, 1, 0, bytes, &after) ||
         table->Add(Sort::kHandle, handle, {.bytes = bytes, .device = place, .references = 1});
}

// Held while the driver makes a handle for mapped memory and the handle is counted. An unmap at
// that moment is uncounted after it, so the last count is not removed in between. Null: no memory.
Mutex* Retaining() {
  static constinit ProcessMemory<Mutex> retaining;
  return retaining.Get();
}

// True: the handle is known. The opposite call undoes a count that was made for a failed driver
// call.
bool CountHandle(CUmemGenericAllocationHandle handle, int references, int mappings, uint64_t bytes,
                 Holding* after) {
  Table* const table = TheTable();
  return table != nullptr &&
         table->Count(Sort::kHandle, handle, references, mappings, bytes, after);
}

void EndMapping(CUmemGenericAllocationHandle handle, const MemoryRelease& parting) {
  Mutex* const retaining = Retaining();
  if (retaining == nullptr) return;
  const Locked lock(retaining);
  Holding after;
  if (!CountHandle(handle, 0, -1, 0, &after)) return;
  if (after.tag == kOwn || parting.place() == after.device) return FreeIfUnused(after, parting);
  FreeIfUnused(after, MemoryRelease(after.device, false));
}

}  // namespace

bool tessera::limiter::CountMapping(CUmemGenericAllocationHandle handle) {
  Holding after;
  return CountHandle(handle, 0, 1, 0, &after);
}

void tessera::limiter::UncountMapping(CUmemGenericAllocationHandle handle) {
  EndMapping(handle, MemoryRelease(-1));
}

namespace {

uint32_t TagOf(CUmemGenericAllocationHandle handle, int* place) {
  Holding holding;
  Table* const table = TheTable();
  if (table == nullptr || !table->Find(Sort::kHandle, handle, &holding)) return kOwn;
  *place = holding.device;
  return holding.tag;
}

// The place of a shared mapping in this range; -1: none.
int PlaceOfPassed(CUdeviceptr address, size_t bytes) {
  if (!any_is_passed.load(std::memory_order_acquire)) return -1;
  Table* const table = TheTable();
  for (uint64_t at = 0; at < bytes;) {
    Holding mapping{.bytes = kChunk};
    int place = -1;
    const bool known = table->Find(Sort::kMapping, address + at, &mapping);
    if (known && TagOf(mapping.other, &place) != kOwn) return place;
    at += mapping.bytes != 0 ? mapping.bytes : kChunk;
  }
  return -1;
}

}  // namespace

bool tessera::limiter::IsImported(CUmemGenericAllocationHandle handle) {
  int ignored = -1;
  return any_is_passed.load(std::memory_order_acquire) && TagOf(handle, &ignored) == kImported;
}

LimitExcess tessera::limiter::CountImported(CUmemGenericAllocationHandle handle, uint64_t bytes) {
  Mutex* const retaining = Retaining();
  if (retaining == nullptr) return {.bytes = bytes};
  const Uncancelled uncancelled;
  const Locked lock(retaining);
  Table* const table = TheTable();
  Holding holding, after;
  if (!table->Find(Sort::kHandle, handle, &holding)) return {};
  const uint64_t had = holding.bytes + holding.other;
  if (bytes <= had) return {};
  const uint64_t more = bytes - had;
  if (NoteImported(holding.device, more)) {
    table->Mark(Sort::kHandle, handle, holding.other + more);
  } else if (TryReserveOrTrim(holding.device, more, Kind::kData)) {
    CountHandle(handle, 0, 0, more, &after);
  } else {
    return {holding.device, more};
  }
  if (had == 0) EndImport(holding.device);
  return {};
}

namespace {

CUresult Create(CUmemGenericAllocationHandle* out, size_t bytes, const CUmemAllocationProp* wanted,
                unsigned long long flags) {
  const Driver& driver = TheDriver();
  const int place = out == nullptr || bytes == 0 ? -1 : PlaceOf(wanted);
  if (place < 0) return driver.cuMemCreate(out, bytes, wanted, flags);
  const uint64_t held = RoundUp(bytes, kChunk);
  if (!ReserveOrTrim(place, held)) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = Patiently([&] { return driver.cuMemCreate(out, bytes, wanted, flags); });
  if (result == CUDA_SUCCESS && !RememberHandle(*out, place, held)) {
    driver.cuMemRelease(*out);
    result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (result != CUDA_SUCCESS) Release(place, held, Kind::kData);
  return result;
}

}  // namespace

CUresult cuMemCreate(CUmemGenericAllocationHandle* answer, size_t bytes,
                     const CUmemAllocationProp* wanted, unsigned long long flags) {
  // The driver gets the copy that was read here.
  const CUmemAllocationProp own = wanted != nullptr ? *wanted : CUmemAllocationProp{};
  return Answered(answer, [&](CUmemGenericAllocationHandle* out) {
    return Create(out, bytes, wanted != nullptr ? &own : nullptr, flags);
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  // Held like a mapping during the call: a thread that maps it before the driver releases it still
  // finds it known.
  Holding after;
  const bool known = CountHandle(handle, -1, 1, 0, &after);
  const bool is_last = known && after.references == 0 && after.mappings == 1;
  const MemoryRelease parting(is_last && after.tag != kOwn ? after.device : -1);
  const CUresult result = TheDriver().cuMemRelease(handle);
  if (!known) return result;
  if (result != CUDA_SUCCESS) CountHandle(handle, 1, 0, 0, &after);
  EndMapping(handle, parting);
  return result;
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  const Driver& driver = TheDriver();
  if (!CountMapping(handle)) {
    return driver.cuMemMap(address, bytes, offset, handle, flags);
  }
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  LimitExcess excess;
  if (IsImported(handle)) excess = CountImported(handle, RoundUp(offset + bytes, kChunk));
  if (excess.bytes == 0) {
    result = driver.cuMemMap(address, bytes, offset, handle, flags);
  } else {
    Refuse(excess.place, excess.bytes);
  }
  if (result == CUDA_SUCCESS &&
      !TheTable()->Add(Sort::kMapping, address, {.bytes = bytes, .other = handle})) {
    driver.cuMemUnmap(address, bytes);
    result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (result != CUDA_SUCCESS) UncountMapping(handle);
  return result;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  const MemoryRelease parting(PlaceOfPassed(address, bytes));
  const CUresult result = TheDriver().cuMemUnmap(address, bytes);
  Table* const table = TheTable();
  if (result != CUDA_SUCCESS || table == nullptr) return result;
  // The range may have several mappings, and unknown ones in between. Mappings of this process
  // alone come first: the measurement of the shared ones must not include them.
  for (int turn = parting.place() < 0 ? 1 : 0; turn < 2; ++turn) {
    for (uint64_t at = 0; at < bytes;) {
      Holding mapping{.bytes = kChunk};
      int place = -1;
      const bool known = table->Find(Sort::kMapping, address + at, &mapping);
      const bool is_now = known && (turn == 1 || TagOf(mapping.other, &place) == kOwn);
      if (is_now && table->Take(Sort::kMapping, address + at, &mapping)) {
        EndMapping(mapping.other, parting);
      }
      at += mapping.bytes != 0 ? mapping.bytes : kChunk;
    }
  }
  return result;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* answer, void* address) {
  return Answered(answer, [address](CUmemGenericAllocationHandle* out) {
    Mutex* const retaining = Retaining();
    if (retaining == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    const Locked lock(retaining);
    const CUresult result = TheDriver().cuMemRetainAllocationHandle(out, address);
    Holding after;
    if (result == CUDA_SUCCESS) CountHandle(*out, 1, 0, 0, &after);
    return result;
  });
}

CUresult cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  Mutex* const retaining = Retaining();
  Table* const table = TheTable();
  if (retaining == nullptr || table == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  {
    const Locked lock(retaining);
    Holding holding;
    if (table->Find(Sort::kHandle, handle, &holding) && holding.tag == kOwn) {
      any_is_passed.store(true, std::memory_order_release);
      table->Tag(Sort::kHandle, handle, kExported);
      NoteExported(holding.device, holding.bytes);
    }
  }
  return TheDriver().cuMemExportToShareableHandle(out, handle, type, flags);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* answer, void* handle,
                                        CUmemAllocationHandleType type) {
  return Answered(answer, [&](CUmemGenericAllocationHandle* out) {
    const Driver& driver = TheDriver();
    const ImportScope importing;
    const CUresult result = driver.cuMemImportFromShareableHandle(out, handle, type);
    CUmemAllocationProp found{};
    if (result != CUDA_SUCCESS ||
        driver.cuMemGetAllocationPropertiesFromHandle(&found, *out) != CUDA_SUCCESS) {
      return result;
    }
    const int place = PlaceOf(&found);
    Holding after;
    if (place < 0 || CountHandle(*out, 1, 0, 0, &after)) return result;
    BeginImport(place);
    any_is_passed.store(true, std::memory_order_release);
    const Holding imported{.device = place, .references = 1, .tag = kImported};
    Table* const table = TheTable();
    if (table != nullptr && table->Add(Sort::kHandle, *out, imported)) return result;
    driver.cuMemRelease(*out);
    EndImport(place);
    return CUDA_ERROR_OUT_OF_MEMORY;
  });
}
