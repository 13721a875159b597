// SPDX-License-Identifier: Apache-2.0
// Pools of another process, imported by file descriptor, and allocations from them by exported
// pointers. An allocation's whole segment counts once, until no process holds it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "cuda/pools.h"

namespace tessera::fake_cuda {
namespace {

constexpr uint64_t kPoolMagic = 0x706f6f6c;
constexpr uint64_t kPieceMagic = 0x7069656365;

// The content of a pool's file, and of an exported pointer.
struct Passed {
  uint64_t magic;
  uint64_t number;  // a pool's device; a pointer's bytes
  ObjectName object;
};

// The allocations that this process imported, by address.
struct Pieces {
  std::mutex mutex;
  std::map<uint64_t, ObjectName> all;
};
Pieces& ThePieces() {
  static auto* const pieces = new Pieces();
  return *pieces;
}

bool IsShareable(CUmemoryPool pool) {
  return IsPool(pool) && !pool->imported;
}

}  // namespace

bool FreeImported(uint64_t address) {
  Pieces& pieces = ThePieces();
  const std::lock_guard pieces_lock(pieces.mutex);
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  const Range* range = space.At(address);
  const bool is = address % kChunk == 0 && range != nullptr && range->kind == Kind::kImported &&
                  range->pool != nullptr;
  if (!is) return false;
  space.Free(address);
  TheDriver()->state->objects().LetGo(pieces.all[address]);
  pieces.all.erase(address);
  return true;
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuMemPoolExportToShareableHandle(void* out, CUmemoryPool pool,
                                                      CUmemAllocationHandleType type,
                                                      unsigned long long flags) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr || !IsShareable(pool) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const Passed passed{kPoolMagic, static_cast<uint64_t>(pool->device), {}};
  const int file = memfd_create("fake-cuda-pool", MFD_CLOEXEC);
  if (file < 0 || write(file, &passed, sizeof passed) != sizeof passed) return CUDA_ERROR_UNKNOWN;
  *static_cast<int*>(out) = file;
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* out, void* handle,
                                                        CUmemAllocationHandleType type,
                                                        unsigned long long flags) {
  NEED_DRIVER(driver);
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  Passed passed{};
  const int file = static_cast<int>(reinterpret_cast<intptr_t>(handle));
  const bool whole = pread(file, &passed, sizeof passed, 0) == sizeof passed;
  if (!whole || passed.magic != kPoolMagic || passed.number >= driver->node.devices.size()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = NewPool(static_cast<int>(passed.number), false, 0);
  (*out)->imported = true;
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* out, CUdeviceptr address) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const std::optional<Found> found = FindInPools(address);
  if (out == nullptr || !found || found->begin != address) return CUDA_ERROR_INVALID_VALUE;
  const ObjectName object = ExportSegment(address);
  if (object.is_none()) return CUDA_ERROR_NOT_SUPPORTED;
  const Passed passed{kPieceMagic, found->bytes, object};
  std::memcpy(out, &passed, sizeof passed);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemPoolImportPointer(CUdeviceptr* out, CUmemoryPool pool,
                                            CUmemPoolPtrExportData* data) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const bool valid = out != nullptr && data != nullptr && IsPool(pool) && pool->imported;
  if (!valid) return CUDA_ERROR_INVALID_VALUE;
  Passed passed{};
  std::memcpy(static_cast<void*>(&passed), data, sizeof passed);
  if (passed.magic != kPieceMagic) return CUDA_ERROR_INVALID_VALUE;
  Objects& objects = TheDriver()->state->objects();
  if (!objects.Hold(passed.object)) return CUDA_ERROR_INVALID_VALUE;
  Pieces& pieces = ThePieces();
  const std::lock_guard pieces_lock(pieces.mutex);
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  *out = space.Reserve(passed.number, {.kind = Kind::kImported,
                                       .device = static_cast<uint8_t>(pool->device),
                                       .bytes = passed.number,
                                       .pool = pool});
  if (*out == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  pieces.all[*out] = passed.object;
  return CUDA_SUCCESS;
}
