// SPDX-License-Identifier: Apache-2.0
// Allocations outside a stream's order, and queries about addresses.
#include "cuda/memory.h"

#include <algorithm>

#include "cuda/contexts.h"
#include "cuda/graphs.h"

namespace tessera::fake_cuda {

std::optional<Found> FindInHeaps(uint64_t address) {
  const std::optional<Block> block = FindBlock(address);
  if (!block || block->range.kind == Kind::kReserved || block->range.kind == Kind::kPool) {
    return std::nullopt;
  }
  Heap* heap = block->range.heap;
  return Found{.begin = block->address,
               .bytes = block->bytes,
               .device = block->range.device,
               .managed = block->range.kind == Kind::kManaged,
               .context = heap == nullptr ? PrimaryOf(block->range.device) : heap->context()};
}

void DropMemoryOf(CUcontext context) {
  context->heap.Clear();
}

namespace {

constexpr uint64_t kPitch = 512;

std::optional<Found> Find(uint64_t address) {
  if (auto found = FindInHeaps(address)) return found;
  if (auto found = FindInPools(address)) return found;
  return FindMapped(address);
}

CUresult Allocate(CUcontext context, CUdeviceptr* out, uint64_t bytes) {
  const uint64_t address = context->heap.Allocate(bytes);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = address;
  return CUDA_SUCCESS;
}

template <class T>
void Put(void* out, const T& value) {
  *static_cast<T*>(out) = value;
}

CUresult Attribute(void* out, int attribute, const Found& found) {
  constexpr unsigned kDeviceMemory = 2;
  constexpr int kIsMapped = 13;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      Put(out, found.context);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      Put(out, kDeviceMemory);
      return CUDA_SUCCESS;
    case 3:  // the address on the device
      Put(out, found.begin);
      return CUDA_SUCCESS;
    case 4:  // and on the host
      if (!found.managed) return CUDA_ERROR_INVALID_VALUE;
      Put(out, found.begin);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      Put(out, found.managed);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      Put(out, found.device);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      Put(out, found.begin);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      Put(out, found.bytes);
      return CUDA_SUCCESS;
    case kIsMapped:
      Put(out, true);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      Put(out, found.pool);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace
}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  NEED_CONTEXT(context);
  if (free == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  State& state = *TheDriver()->state;
  *total = state.bytes(context->card);
  const uint64_t used = state.Used(context->card);
  *free = *total > used ? *total - used : 0;
  return CUDA_SUCCESS;
}

// CUDA 2's function with 32-bit numbers: larger values are cut to the largest.
FAKE_EXPORT CUresult cuMemGetInfo(unsigned* free, unsigned* total) {
  if (free == nullptr || total == nullptr) {
    return Current() == nullptr ? Missing() : CUDA_ERROR_INVALID_VALUE;
  }
  size_t all_free = 0;
  size_t all = 0;
  const CUresult result = cuMemGetInfo_v2(&all_free, &all);
  *free = static_cast<unsigned>(std::min<size_t>(all_free, UINT32_MAX));
  *total = static_cast<unsigned>(std::min<size_t>(all, UINT32_MAX));
  return result;
}

FAKE_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  NEED_CONTEXT(context);
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  NEED_NO_CAPTURE();
  return Allocate(context, out, bytes);
}

FAKE_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width,
                                        size_t height, unsigned element) {
  NEED_CONTEXT(context);
  const bool is_element = element == 4 || element == 8 || element == 16;
  if (out == nullptr || pitch == nullptr || width == 0 || height == 0 || !is_element) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  NEED_NO_CAPTURE();
  uint64_t bytes = 0;
  const uint64_t row = RoundUp(width, kPitch);
  if (row < width || __builtin_mul_overflow(row, height, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *pitch = row;
  return Allocate(context, out, bytes);
}

FAKE_EXPORT CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned flags) {
  NEED_CONTEXT(context);
  constexpr unsigned kGlobal = 1;
  constexpr unsigned kSingle = 4;
  const bool is_flag = flags == kGlobal || flags == 2 || flags == kSingle;
  if (out == nullptr || bytes == 0 || !is_flag) return CUDA_ERROR_INVALID_VALUE;
  NEED_NO_CAPTURE();
  const uint64_t address = context->heap.AllocateManaged(bytes);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = address;
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  if (Current() == nullptr) return Missing();
  if (address == 0) return CUDA_SUCCESS;
  NEED_NO_CAPTURE();
  const bool freed = FreeBlock(address) || FreePooled(address) || FreeGraphMemory(address) ||
                     FreeMappedBuffer(address);
  return freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, size_t* bytes,
                                             CUdeviceptr address) {
  if (Current() == nullptr) return Missing();
  const std::optional<Found> found = Find(address);
  if (!found) return CUDA_ERROR_NOT_FOUND;
  if (begin != nullptr) *begin = found->begin;
  if (bytes != nullptr) *bytes = found->bytes;
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute,
                                           CUdeviceptr address) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::optional<Found> found = Find(address);
  return found ? Attribute(out, attribute, *found) : CUDA_ERROR_INVALID_VALUE;
}

// As with the driver, an attribute that the address lacks is not written; that is no error.
FAKE_EXPORT CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes,
                                            void** out, CUdeviceptr address) {
  if (Current() == nullptr) return Missing();
  if (count == 0 || attributes == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::optional<Found> found = Find(address);
  if (!found) return CUDA_SUCCESS;
  for (unsigned i = 0; i < count; ++i) Attribute(out[i], attributes[i], *found);
  return CUDA_SUCCESS;
}
