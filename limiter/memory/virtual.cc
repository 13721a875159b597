// SPDX-License-Identifier: Apache-2.0
// Virtual memory: the bytes belong to the handle, and are free when neither a handle nor a mapping
// is left. A handle may be released while its memory stays mapped.
#include "limiter/memory/virtual.h"

#include "limiter/books/mutex.h"
#include "limiter/books/process_memory.h"
#include "limiter/memory/charge.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

// Memory of the host is not counted, wherever it is used.
int PlaceOf(const CUmemAllocationProp* wanted) {
  if (wanted == nullptr) return -1;
  const CUmemLocation& location = wanted->location;
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) return PlaceOfDevice(location.id);
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN) {
    return PlaceOfDevice(location.id & 0xff);
  }
  return -1;
}

void FreeIfUnused(const Holding& after) {
  if (after.references == 0 && after.mappings == 0) Release(after.device, after.bytes, Kind::kData);
}

// A handle's number may come again while what it stood for is still mapped: then both are held
// until nothing of either is.
bool RememberHandle(CUmemGenericAllocationHandle handle, int place, uint64_t bytes) {
  Table* const table = TheTable();
  if (table == nullptr) return false;
  Holding after;
  return table->Count(Sort::kHandle, handle, 1, 0, bytes, &after) ||
         table->Add(Sort::kHandle, handle, {.bytes = bytes, .device = place, .references = 1});
}

// Held while the driver is asked for a handle to what is mapped and that is counted: what is
// unmapped meanwhile is uncounted after it. Null: there is no memory.
Mutex* Retaining() {
  static constinit ProcessMemory<Mutex> retaining;
  return retaining.Get();
}

// True: it is known. What was counted so that the call may be made, is counted back by the
// opposite.
bool CountHandle(CUmemGenericAllocationHandle handle, int references, int mappings,
                 Holding* after) {
  Table* const table = TheTable();
  return table != nullptr && table->Count(Sort::kHandle, handle, references, mappings, 0, after);
}

}  // namespace

bool tessera::limiter::CountMapping(CUmemGenericAllocationHandle handle) {
  Holding after;
  return CountHandle(handle, 0, 1, &after);
}

void tessera::limiter::UncountMapping(CUmemGenericAllocationHandle handle) {
  Mutex* const retaining = Retaining();
  if (retaining == nullptr) return;
  const Locked lock(retaining);
  Holding after;
  if (CountHandle(handle, 0, -1, &after)) FreeIfUnused(after);
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
  // The driver is to read what was read here.
  const CUmemAllocationProp own = wanted != nullptr ? *wanted : CUmemAllocationProp{};
  return Answered(answer, [&](CUmemGenericAllocationHandle* out) {
    return Create(out, bytes, wanted != nullptr ? &own : nullptr, flags);
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  // As if it were mapped: who maps it before the driver has it finds it known.
  Holding after;
  const bool known = CountHandle(handle, -1, 1, &after);
  const CUresult result = TheDriver().cuMemRelease(handle);
  if (!known) return result;
  if (result != CUDA_SUCCESS) CountHandle(handle, 1, 0, &after);
  UncountMapping(handle);
  return result;
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  const Driver& driver = TheDriver();
  if (!CountMapping(handle)) {
    return driver.cuMemMap(address, bytes, offset, handle, flags);
  }
  CUresult result = driver.cuMemMap(address, bytes, offset, handle, flags);
  if (result == CUDA_SUCCESS &&
      !TheTable()->Add(Sort::kMapping, address, {.bytes = bytes, .other = handle})) {
    driver.cuMemUnmap(address, bytes);
    result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (result != CUDA_SUCCESS) UncountMapping(handle);
  return result;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  const CUresult result = TheDriver().cuMemUnmap(address, bytes);
  Table* const table = TheTable();
  if (result != CUDA_SUCCESS || table == nullptr) return result;
  // Several mappings may lie side by side, and others between them that are not known.
  for (uint64_t at = 0; at < bytes;) {
    Holding mapping;
    if (!table->Take(Sort::kMapping, address + at, &mapping)) {
      at += kChunk;
      continue;
    }
    UncountMapping(mapping.other);
    at += mapping.bytes != 0 ? mapping.bytes : kChunk;
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
    if (result == CUDA_SUCCESS) CountHandle(*out, 1, 0, &after);
    return result;
  });
}
