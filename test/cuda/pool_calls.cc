// SPDX-License-Identifier: Apache-2.0
// The calls on memory pools, and allocation and free in a stream's order.
#include <cstring>

#include "cuda/graphs.h"
#include "cuda/pools.h"

namespace tessera::fake_cuda {
namespace {

bool IsDevice(int device) {
  return device >= 0 && static_cast<size_t>(device) < TheDriver()->node.devices.size();
}
bool IsHost(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

CUresult AllocateIn(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  if (out == nullptr || stream == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (Capture* capture = stream->capture) return CaptureAllocation(*capture, out, bytes);
  if (bytes == 0) {
    *out = 0;
    return CUDA_SUCCESS;
  }
  const uint64_t address = AllocatePooled(*pool, bytes, stream);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = address;
  return CUDA_SUCCESS;
}

template <class T>
CUresult Give(T* out, const T& value) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = value;
  return CUDA_SUCCESS;
}

CUmemoryPool HostPool() {
  static const CUmemoryPool pool = [] {
    const CUmemoryPool made = NewPool(0, true, 0);
    made->is_default = true;
    made->location = CU_MEM_LOCATION_TYPE_HOST;
    return made;
  }();
  return pool;
}

// From CUDA 13 on. The pool reports the location that the program asked for. Its memory is on that
// device, or else on the first one.
CUresult NewManaged(CUmemoryPool* out, const CUmemPoolProps& wanted) {
  if (TheDriver()->node.version < 13000) return CUDA_ERROR_INVALID_VALUE;
  const bool is_on_device = wanted.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (is_on_device && !IsDevice(wanted.location.id)) return CUDA_ERROR_INVALID_DEVICE;
  *out = NewPool(is_on_device ? wanted.location.id : 0, false, wanted.maxSize);
  (*out)->kind = CU_MEM_ALLOCATION_TYPE_MANAGED;
  (*out)->location = wanted.location.type;
  return CUDA_SUCCESS;
}

uint64_t* NumberOf(CUmemPoolHandle_st& pool, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return &pool.threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return &pool.reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return &pool.most_reserved;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return &pool.used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return &pool.most_used;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_STREAM_FUNCTION(cuMemAllocAsync, _ptsz, (CUdeviceptr * out, size_t bytes, CUstream handle),
                     (out, bytes, handle)) {
  NEED_CONTEXT(context);
  CUstream stream = StreamOf(handle, context);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return AllocateIn(out, bytes, PoolOf(stream->context->device), stream);
}

FAKE_STREAM_FUNCTION(cuMemAllocFromPoolAsync, _ptsz,
                     (CUdeviceptr * out, size_t bytes, CUmemoryPool pool, CUstream handle),
                     (out, bytes, pool, handle)) {
  NEED_CONTEXT(context);
  CUstream stream = StreamOf(handle, context);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!IsPool(pool) || pool->imported) return CUDA_ERROR_INVALID_VALUE;
  return AllocateIn(out, bytes, pool, stream);
}

FAKE_STREAM_FUNCTION(cuMemFreeAsync, _ptsz, (CUdeviceptr address, CUstream handle),
                     (address, handle)) {
  NEED_CONTEXT(context);
  CUstream stream = StreamOf(handle, context);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (address == 0) return CUDA_SUCCESS;
  if (Capture* capture = stream->capture) return CaptureFree(*capture, address);
  const bool freed = FreePooledIn(address, stream) || FreeImported(address) || FreeBlock(address) ||
                     FreeGraphMemory(address);
  return freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_EXPORT CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUmemLocation& location = properties->location;
  if (properties->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED) return NewManaged(out, *properties);
  const bool on_host = IsHost(location.type);
  if (!on_host && location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  if (!on_host && !IsDevice(location.id)) return CUDA_ERROR_INVALID_DEVICE;
  if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  *out = NewPool(on_host ? 0 : location.id, on_host, properties->maxSize);
  (*out)->location = location.type;
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (!IsPool(pool) || pool->is_default) return CUDA_ERROR_INVALID_VALUE;
  DestroyPool(pool);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (!IsPool(pool)) return CUDA_ERROR_INVALID_VALUE;
  TrimPool(pool, keep);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                           void* out) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (!IsPool(pool) || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(pool->mutex);
  if (const uint64_t* number = NumberOf(*pool, attribute)) {
    std::memcpy(out, number, sizeof *number);
    return CUDA_SUCCESS;
  }
  int value = 0;
  const bool is_new = TheDriver()->node.version >= 13000;
  if (attribute >= 1 && attribute <= 3) {
    value = pool->reuse[attribute - 1];
  } else if (is_new && attribute == CU_MEMPOOL_ATTR_ALLOCATION_TYPE) {
    value = pool->kind;
  } else if (is_new && attribute == CU_MEMPOOL_ATTR_LOCATION_ID) {
    value = pool->device;
  } else if (is_new && attribute == CU_MEMPOOL_ATTR_LOCATION_TYPE) {
    value = pool->location;
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memcpy(out, &value, sizeof value);
  return CUDA_SUCCESS;
}

// As with the driver, a high-water mark can only be set to 0: it restarts at the present value.
FAKE_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                           void* value) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (!IsPool(pool) || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(pool->mutex);
  if (attribute >= 1 && attribute <= 3) {
    std::memcpy(&pool->reuse[attribute - 1], value, sizeof(int));
    return CUDA_SUCCESS;
  }
  uint64_t number = 0;
  std::memcpy(&number, value, sizeof number);
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    pool->threshold = number;
  } else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH && number == 0) {
    pool->most_reserved = pool->reserved;
  } else if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH && number == 0) {
    pool->most_used = pool->used;
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access,
                                        size_t /*count*/) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  return IsPool(pool) && access != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  return IsDevice(device) ? Give(out, DefaultPoolOf(device)) : CUDA_ERROR_INVALID_DEVICE;
}
FAKE_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  return IsDevice(device) ? Give(out, PoolOf(device)) : CUDA_ERROR_INVALID_DEVICE;
}
FAKE_EXPORT CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!IsPool(pool) || pool->device != device) return CUDA_ERROR_INVALID_VALUE;
  SetPoolOf(device, pool);
  return CUDA_SUCCESS;
}

// CUDA 13's functions for the same, by location and kind of memory.
FAKE_EXPORT CUresult cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location,
                                            CUmemAllocationType type) {
  if (location == nullptr || type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (location->type == CU_MEM_LOCATION_TYPE_HOST) return Give(out, HostPool());
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  return cuDeviceGetDefaultMemPool(out, location->id);
}
FAKE_EXPORT CUresult cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location,
                                     CUmemAllocationType type) {
  if (location == nullptr || type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  return cuDeviceGetMemPool(out, location->id);
}
FAKE_EXPORT CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type,
                                     CUmemoryPool pool) {
  if (location == nullptr || type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  return cuDeviceSetMemPool(location->id, pool);
}
