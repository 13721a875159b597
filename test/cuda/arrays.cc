// SPDX-License-Identifier: Apache-2.0
// Arrays and mipmapped arrays. Rows are multiples of 512 bytes; a large array takes whole chunks.
#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "cuda/contexts.h"
#include "cuda/sparse.h"

inline constexpr unsigned kMostLevels = 16;

struct CUarray_st {
  CUcontext context = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  uint64_t address = 0;  // 0: it has no memory of its own
  uint64_t bytes = 0;
};
struct CUmipmappedArray_st {
  CUarray_st whole;
  std::array<CUarray_st, kMostLevels> levels;
  unsigned count = 0;
};

namespace tessera::fake_cuda {
namespace {

using Descriptor = CUDA_ARRAY3D_DESCRIPTOR;

struct Arrays {
  std::mutex mutex;  // guards the members below
  std::map<CUarray, std::unique_ptr<CUarray_st>> arrays;
  std::map<CUmipmappedArray, std::unique_ptr<CUmipmappedArray_st>> mipmapped;
};
Arrays& TheArrays() {
  static auto* const arrays = new Arrays();
  return *arrays;
}

uint64_t BytesOf(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

bool IsValid(const Descriptor& descriptor) {
  const unsigned channels = descriptor.NumChannels;
  return descriptor.Width > 0 && BytesOf(descriptor.Format) > 0 &&
         (channels == 1 || channels == 2 || channels == 4);
}
bool IsMappedLater(const Descriptor& descriptor) {
  return (descriptor.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0;
}

// UINT64_MAX: the size overflows.
uint64_t BytesOf(const Descriptor& descriptor) {
  const uint64_t height = std::max<uint64_t>(descriptor.Height, 1);
  const uint64_t depth = std::max<uint64_t>(descriptor.Depth, 1);
  uint64_t bytes = 0;
  const uint64_t element = BytesOf(descriptor.Format) * descriptor.NumChannels;
  if (__builtin_mul_overflow(descriptor.Width, element, &bytes)) return UINT64_MAX;
  bytes = RoundUp(bytes, kUnit);
  if (__builtin_mul_overflow(bytes, height, &bytes)) return UINT64_MAX;
  return __builtin_mul_overflow(bytes, depth, &bytes) ? UINT64_MAX : bytes;
}

// The array of a level: each level halves width, height and depth.
Descriptor Level(Descriptor descriptor, unsigned level) {
  const bool layered = (descriptor.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  descriptor.Width = std::max<size_t>(descriptor.Width >> level, 1);
  if (descriptor.Height > 0) descriptor.Height = std::max<size_t>(descriptor.Height >> level, 1);
  if (descriptor.Depth > 0 && !layered) {
    descriptor.Depth = std::max<size_t>(descriptor.Depth >> level, 1);
  }
  return descriptor;
}

bool Fill(CUarray_st& array, CUcontext context, const Descriptor& descriptor, uint64_t bytes) {
  array.context = context;
  array.descriptor = descriptor;
  array.bytes = bytes;
  if (IsMappedLater(descriptor)) return true;
  if (bytes != UINT64_MAX) array.address = context->heap.Allocate(bytes);
  return array.address != 0;
}

CUresult Create(CUarray* out, const Descriptor& descriptor) {
  NEED_CONTEXT(context);
  if (out == nullptr || !IsValid(descriptor)) return CUDA_ERROR_INVALID_VALUE;
  NEED_NO_CAPTURE();
  auto array = std::make_unique<CUarray_st>();
  if (!Fill(*array, context, descriptor, BytesOf(descriptor))) return CUDA_ERROR_OUT_OF_MEMORY;
  Arrays& arrays = TheArrays();
  const std::lock_guard lock(arrays.mutex);
  *out = array.get();
  arrays.arrays[array.get()] = std::move(array);
  return CUDA_SUCCESS;
}

CUresult Require(CUDA_ARRAY_MEMORY_REQUIREMENTS* out, const CUarray_st& array) {
  if (!IsMappedLater(array.descriptor)) return CUDA_ERROR_INVALID_VALUE;
  *out = {.size = RoundUp(array.bytes, kChunk), .alignment = kChunk, .reserved = {}};
  return CUDA_SUCCESS;
}

}  // namespace

void DropArraysOf(CUcontext context) {
  Arrays& arrays = TheArrays();
  const std::lock_guard lock(arrays.mutex);
  std::erase_if(arrays.arrays, [&](const auto& one) {
    if (one.second->context != context) return false;
    DropTilesOf(one.first);
    return true;
  });
  std::erase_if(arrays.mipmapped, [&](const auto& one) {
    if (one.second->whole.context != context) return false;
    DropTilesOf(one.first);
    return true;
  });
}

std::optional<Descriptor> FindSparse(const CUarrayMapInfo& operation) {
  constexpr int kArray = 0, kMipmapped = 1;
  Arrays& arrays = TheArrays();
  const std::lock_guard lock(arrays.mutex);
  const unsigned level =
      operation.subresourceType == 0 ? operation.subresource.sparseLevel.level : 0;
  std::optional<Descriptor> found;
  if (operation.resourceType == kArray && level == 0) {
    const auto array = arrays.arrays.find(static_cast<CUarray>(operation.resource));
    if (array != arrays.arrays.end()) found = array->second->descriptor;
  } else if (operation.resourceType == kMipmapped) {
    const auto array = arrays.mipmapped.find(static_cast<CUmipmappedArray>(operation.resource));
    const bool is = array != arrays.mipmapped.end() && level < array->second->count;
    if (is) found = array->second->levels[level].descriptor;
  }
  return found && IsMappedLater(*found) ? found : std::nullopt;
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* from) {
  if (from == nullptr) return Current() == nullptr ? Missing() : CUDA_ERROR_INVALID_VALUE;
  return Create(out, {from->Width, from->Height, 0, from->Format, from->NumChannels, 0});
}
FAKE_EXPORT CUresult cuArrayCreate(CUarray* out, const CUDA_ARRAY_DESCRIPTOR_v1* from) {
  if (from == nullptr) return Current() == nullptr ? Missing() : CUDA_ERROR_INVALID_VALUE;
  return Create(out, {from->Width, from->Height, 0, from->Format, from->NumChannels, 0});
}
FAKE_EXPORT CUresult cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* from) {
  if (from == nullptr) return Current() == nullptr ? Missing() : CUDA_ERROR_INVALID_VALUE;
  return Create(out, *from);
}
FAKE_EXPORT CUresult cuArray3DCreate(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR_v1* from) {
  if (from == nullptr) return Current() == nullptr ? Missing() : CUDA_ERROR_INVALID_VALUE;
  return Create(
      out, {from->Width, from->Height, from->Depth, from->Format, from->NumChannels, from->Flags});
}

FAKE_EXPORT CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray array) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr || array == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = array->descriptor;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* out, CUarray array) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr || array == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR& whole = array->descriptor;
  *out = {whole.Width, whole.Height, whole.Format, whole.NumChannels};
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuArrayDestroy(CUarray array) {
  if (Current() == nullptr) return Missing();
  NEED_NO_CAPTURE();
  Arrays& arrays = TheArrays();
  const std::lock_guard lock(arrays.mutex);
  const auto found = arrays.arrays.find(array);
  if (found == arrays.arrays.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (array->address != 0) FreeBlock(array->address);
  DropTilesOf(array);
  arrays.arrays.erase(found);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMipmappedArrayCreate(CUmipmappedArray* out,
                                            const CUDA_ARRAY3D_DESCRIPTOR* of, unsigned levels) {
  NEED_CONTEXT(context);
  const bool valid = out != nullptr && of != nullptr && IsValid(*of) && levels > 0;
  if (!valid) return CUDA_ERROR_INVALID_VALUE;
  NEED_NO_CAPTURE();
  auto mipmapped = std::make_unique<CUmipmappedArray_st>();
  mipmapped->count = std::min(levels, kMostLevels);
  uint64_t bytes = 0;
  for (unsigned level = 0; level < mipmapped->count; ++level) {
    CUarray_st& one = mipmapped->levels[level];
    one.context = context;
    one.descriptor = Level(*of, level);
    if (__builtin_add_overflow(bytes, BytesOf(one.descriptor), &bytes)) bytes = UINT64_MAX;
  }
  if (!Fill(mipmapped->whole, context, *of, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  Arrays& arrays = TheArrays();
  const std::lock_guard lock(arrays.mutex);
  *out = mipmapped.get();
  arrays.mipmapped[mipmapped.get()] = std::move(mipmapped);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMipmappedArrayGetLevel(CUarray* out, CUmipmappedArray mipmapped,
                                              unsigned level) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr || mipmapped == nullptr || level >= mipmapped->count) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = &mipmapped->levels[level];
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuMipmappedArrayDestroy(CUmipmappedArray mipmapped) {
  if (Current() == nullptr) return Missing();
  NEED_NO_CAPTURE();
  Arrays& arrays = TheArrays();
  const std::lock_guard lock(arrays.mutex);
  const auto found = arrays.mipmapped.find(mipmapped);
  if (found == arrays.mipmapped.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (mipmapped->whole.address != 0) FreeBlock(mipmapped->whole.address);
  DropTilesOf(mipmapped);
  arrays.mipmapped.erase(found);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out,
                                                  CUarray array, CUdevice /*device*/) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr || array == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Require(out, *array);
}
FAKE_EXPORT CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out,
                                                           CUmipmappedArray mipmapped,
                                                           CUdevice /*device*/) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr || mipmapped == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Require(out, mipmapped->whole);
}
