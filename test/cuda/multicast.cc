// SPDX-License-Identifier: Apache-2.0
// Multicast objects: handles without memory. Each device of a team binds memory of its own to one.
// Bound memory stays on its card until it is unbound.
#include <map>
#include <mutex>
#include <set>

#include "cuda/driver.h"
#include "cuda/memory.h"
#include "cuda/sparse.h"

namespace tessera::fake_cuda {
namespace {

using Handle = CUmemGenericAllocationHandle;

struct Multicast {
  uint64_t bytes = 0;
  size_t team = 0;
  std::set<CUdevice> devices;
  std::map<uint64_t, Handle> bound;  // by offset
};
struct Multicasts {
  std::mutex mutex;  // guards the members below
  std::map<Handle, Multicast> all;
};
Multicasts& TheMulticasts() {
  static auto* const multicasts = new Multicasts();
  return *multicasts;
}

}  // namespace
}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuMulticastCreate(Handle* out, const CUmulticastObjectProp* wanted) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const bool is_good = out != nullptr && wanted != nullptr && wanted->numDevices > 0 &&
                       wanted->size > 0 && wanted->size % kChunk == 0 && wanted->flags == 0;
  if (!is_good) return CUDA_ERROR_INVALID_VALUE;
  Multicasts& multicasts = TheMulticasts();
  const std::lock_guard lock(multicasts.mutex);
  *out = AddWithoutMemory(wanted->size);
  multicasts.all[*out] = {wanted->size, wanted->numDevices, {}, {}};
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMulticastAddDevice(Handle handle, CUdevice device) {
  NEED_DRIVER(driver);
  Multicasts& multicasts = TheMulticasts();
  const std::lock_guard lock(multicasts.mutex);
  const auto found = multicasts.all.find(handle);
  if (found == multicasts.all.end()) return CUDA_ERROR_INVALID_VALUE;
  if (device < 0 || static_cast<size_t>(device) >= driver->node.devices.size()) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  Multicast& object = found->second;
  if (object.devices.size() == object.team) return CUDA_ERROR_INVALID_VALUE;
  return object.devices.insert(device).second ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_EXPORT CUresult cuMulticastBindMem(Handle handle, size_t offset, Handle memory,
                                        size_t memory_offset, size_t bytes,
                                        unsigned long long flags) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  Multicasts& multicasts = TheMulticasts();
  const std::lock_guard lock(multicasts.mutex);
  const auto found = multicasts.all.find(handle);
  if (found == multicasts.all.end() || memory_offset != 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Multicast& object = found->second;
  const bool is_ready = object.devices.size() == object.team;
  const bool fits = bytes > 0 && bytes <= object.bytes && offset <= object.bytes - bytes;
  if (!is_ready || !fits || object.bound.contains(offset) || !MapTile(memory)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  object.bound[offset] = memory;
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMulticastUnbind(Handle handle, CUdevice /*device*/, size_t offset,
                                       size_t /*bytes*/) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  Multicasts& multicasts = TheMulticasts();
  const std::lock_guard lock(multicasts.mutex);
  const auto found = multicasts.all.find(handle);
  if (found == multicasts.all.end()) return CUDA_ERROR_INVALID_VALUE;
  const auto bound = found->second.bound.find(offset);
  if (bound == found->second.bound.end()) return CUDA_ERROR_INVALID_VALUE;
  UnmapTile(bound->second);
  found->second.bound.erase(bound);
  return CUDA_SUCCESS;
}
