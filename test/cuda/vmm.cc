// SPDX-License-Identifier: Apache-2.0
// CUDA's virtual memory management: physical memory, reserved addresses, and mappings. Memory stays
// on its card until its handle is released and no mapping is left. Exported memory stays until that
// is so in every process, and no descriptor of it is open.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "cuda/contexts.h"
#include "cuda/memory.h"
#include "cuda/sparse.h"

namespace tessera::fake_cuda {
namespace {

using Handle = CUmemGenericAllocationHandle;

struct Physical {
  uint64_t bytes = 0;
  CUmemAllocationProp properties{};
  bool charged = false;  // counted for this process; false for host memory and objects
  ObjectName object{};   // exported or imported memory
  unsigned references = 1;
  unsigned maps = 0;
};
struct Mapping {
  uint64_t bytes = 0;
  Handle handle = 0;
};
struct Memory {
  std::mutex mutex;  // guards the members below
  std::map<Handle, Physical> physical;
  std::map<uint64_t, Mapping> mappings;  // by address
  Handle last = 0;
};
Memory& TheMemory() {
  static auto* const memory = new Memory();
  return *memory;
}

bool IsHost(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_HOST ||
         location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}
CUresult Check(const CUmemAllocationProp* properties) {
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  const CUmemLocation& location = properties->location;
  if (IsHost(location)) return CUDA_SUCCESS;
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  const size_t devices = TheDriver()->node.devices.size();
  const bool is_device = location.id >= 0 && static_cast<size_t>(location.id) < devices;
  return is_device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
unsigned CardOf(const CUmemAllocationProp& properties) {
  return TheDriver()->node.devices[static_cast<size_t>(properties.location.id)].card;
}

// The functions from here to Overlaps need the mutex.
Handle Add(Memory& memory, const Physical& physical) {
  memory.physical[++memory.last] = physical;
  return memory.last;
}
void DropIfUnused(Memory& memory, Handle handle) {
  const auto found = memory.physical.find(handle);
  const Physical& physical = found->second;
  if (physical.references > 0 || physical.maps > 0) return;
  State& state = *TheDriver()->state;
  if (physical.charged) state.Give(CardOf(physical.properties), physical.bytes);
  if (!physical.object.is_none()) state.objects().LetGo(physical.object);
  memory.physical.erase(found);
}
Physical* Find(Memory& memory, Handle handle) {
  const auto found = memory.physical.find(handle);
  const bool is = found != memory.physical.end() && found->second.references > 0;
  return is ? &found->second : nullptr;
}
// The last mapping that begins at or before the address.
std::map<uint64_t, Mapping>::iterator Before(Memory& memory, uint64_t address) {
  auto mapping = memory.mappings.upper_bound(address);
  return mapping == memory.mappings.begin() ? memory.mappings.end() : std::prev(mapping);
}
bool Overlaps(Memory& memory, uint64_t address, uint64_t bytes) {
  const auto next = memory.mappings.lower_bound(address);
  if (next != memory.mappings.end() && next->first < address + bytes) return true;
  const auto before = Before(memory, address);
  return before != memory.mappings.end() && before->first + before->second.bytes > address;
}
bool IsReserved(uint64_t address, uint64_t bytes) {
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  uint64_t begin = 0;
  const Range* range = space.In(address, begin);
  return range != nullptr && range->kind == Kind::kReserved &&
         address + bytes <= begin + range->chunks * kChunk;
}

}  // namespace

std::optional<Found> FindMapped(uint64_t address) {
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  const auto mapping = Before(memory, address);
  if (mapping == memory.mappings.end()) return std::nullopt;
  if (address - mapping->first >= mapping->second.bytes) return std::nullopt;
  const CUmemLocation& location = memory.physical[mapping->second.handle].properties.location;
  return Found{.begin = mapping->first,
               .bytes = mapping->second.bytes,
               .device = IsHost(location) ? 0 : location.id};
}

uint64_t AddWithoutMemory(uint64_t bytes) {
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  return Add(memory, {.bytes = bytes});
}

uint64_t TilePoolBytes(Handle handle) {
  constexpr unsigned kTilePool = 1;
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  const Physical* const physical = Find(memory, handle);
  const bool is = physical != nullptr && physical->properties.allocFlags.usage == kTilePool;
  return is ? physical->bytes : 0;
}
bool MapTile(Handle handle) {
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  Physical* const physical = Find(memory, handle);
  if (physical == nullptr) return false;
  ++physical->maps;
  return true;
}
void UnmapTile(Handle handle) {
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  --memory.physical[handle].maps;
  DropIfUnused(memory, handle);
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuMemGetAllocationGranularity(size_t* out,
                                                   const CUmemAllocationProp* properties,
                                                   CUmemAllocationGranularity_flags /*which*/) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const CUresult checked = Check(properties);
  if (checked != CUDA_SUCCESS) return checked;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = kChunk;
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemCreate(Handle* out, size_t bytes, const CUmemAllocationProp* properties,
                                 unsigned long long flags) {
  NEED_DRIVER(driver);
  const CUresult checked = Check(properties);
  if (checked != CUDA_SUCCESS) return checked;
  const bool fits = bytes > 0 && bytes % kChunk == 0;
  if (out == nullptr || !fits || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool charged = !IsHost(properties->location);
  if (charged && !driver->state->Take(CardOf(*properties), bytes)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  *out = Add(memory, {.bytes = bytes, .properties = *properties, .charged = charged});
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemRelease(Handle handle) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  Physical* physical = Find(memory, handle);
  if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
  --physical->references;
  DropIfUnused(memory, handle);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t alignment,
                                         CUdeviceptr /*wish*/, unsigned long long flags) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const bool fits = bytes > 0 && bytes % kChunk == 0 && (alignment & (alignment - 1)) == 0;
  if (out == nullptr || !fits || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  const uint64_t address = space.Reserve(bytes, {.kind = Kind::kReserved, .bytes = bytes});
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = address;
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  Memory& memory = TheMemory();
  const std::lock_guard memory_lock(memory.mutex);
  if (Overlaps(memory, address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  const Range* range = space.At(address);
  const bool is = range != nullptr && range->kind == Kind::kReserved && range->bytes == bytes;
  if (!is || address % kChunk != 0) return CUDA_ERROR_INVALID_VALUE;
  space.Free(address);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, Handle handle,
                              unsigned long long flags) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const bool fits = bytes > 0 && bytes % kChunk == 0 && address % kChunk == 0;
  if (!fits || offset != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  Physical* physical = Find(memory, handle);
  if (physical == nullptr || bytes > physical->bytes) return CUDA_ERROR_INVALID_VALUE;
  if (!IsReserved(address, bytes) || Overlaps(memory, address, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  ++physical->maps;
  memory.mappings[address] = {bytes, handle};
  return CUDA_SUCCESS;
}

// Only whole mappings that lie side by side.
FAKE_EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  uint64_t end = address;
  const auto first = memory.mappings.find(address);
  auto last = first;
  while (last != memory.mappings.end() && last->first == end && end < address + bytes) {
    end += last->second.bytes;
    ++last;
  }
  if (first == memory.mappings.end() || end != address + bytes) return CUDA_ERROR_INVALID_VALUE;
  for (auto mapping = first; mapping != last; mapping = memory.mappings.erase(mapping)) {
    --memory.physical[mapping->second.handle].maps;
    DropIfUnused(memory, mapping->second.handle);
  }
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes,
                                    const CUmemAccessDesc* access, size_t count) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (access == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  return Overlaps(memory, address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_EXPORT CUresult cuMemRetainAllocationHandle(Handle* out, void* address) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  const auto at = reinterpret_cast<uint64_t>(address);
  const auto mapping = Before(memory, at);
  if (mapping == memory.mappings.end() || at - mapping->first >= mapping->second.bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  ++memory.physical[mapping->second.handle].references;
  *out = mapping->second.handle;
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* out,
                                                            Handle handle) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  const Physical* physical = Find(memory, handle);
  const bool has_memory =
      physical != nullptr && physical->properties.location.type != CU_MEM_LOCATION_TYPE_INVALID;
  if (out == nullptr || !has_memory) return CUDA_ERROR_INVALID_VALUE;
  *out = physical->properties;
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemExportToShareableHandle(void* out, Handle handle,
                                                  CUmemAllocationHandleType type,
                                                  unsigned long long flags) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  Physical* const physical = Find(memory, handle);
  if (physical == nullptr || physical->properties.requestedHandleTypes != type) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  State& state = *TheDriver()->state;
  if (physical->charged) {
    physical->object = state.Export(CardOf(physical->properties), physical->bytes);
    physical->charged = physical->object.is_none();
  }
  if (physical->object.is_none()) return CUDA_ERROR_NOT_SUPPORTED;
  FileContent exported;
  exported.magic = FileContent::kCudas;
  exported.object = physical->object;
  exported.properties = physical->properties;
  const int file = state.objects().Open(exported.object, &exported, sizeof exported);
  if (file < 0) return CUDA_ERROR_UNKNOWN;
  *static_cast<int*>(out) = file;
  return CUDA_SUCCESS;
}

// Makes another handle of the same memory, of this process or another.
FAKE_EXPORT CUresult cuMemImportFromShareableHandle(Handle* out, void* handle,
                                                    CUmemAllocationHandleType type) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const int file = static_cast<int>(reinterpret_cast<intptr_t>(handle));
  FileContent exported;
  const bool whole = pread(file, &exported, sizeof exported, 0) == sizeof exported;
  if (out == nullptr || !whole || exported.magic != FileContent::kCudas) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  State& state = *TheDriver()->state;
  if (!state.objects().Hold(exported.object)) return CUDA_ERROR_INVALID_VALUE;
  // The device may have another number in this process.
  const auto& devices = TheDriver()->node.devices;
  const unsigned card = state.objects().CardOf(exported.object);
  const auto device = std::ranges::find(devices, card, &Device::card);
  exported.properties.location.id = static_cast<int>(device - devices.begin());
  *out = Add(memory, {.bytes = state.objects().BytesOf(exported.object),
                      .properties = exported.properties,
                      .object = exported.object});
  return CUDA_SUCCESS;
}
