// SPDX-License-Identifier: Apache-2.0
// Arrays. The driver does not report an array's size or address. The size is computed with rows of
// a multiple of 512 bytes, and as if it shared no chunk. So it is never less than the array takes.
#include "limiter/memory/charge.h"
#include "limiter/memory/contexts.h"
#include "limiter/memory/sparse.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

using Descriptor = CUDA_ARRAY3D_DESCRIPTOR;

// Bytes of a channel; 16 for unknown formats, which have blocks of elements.
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
      return 16;
  }
}

uint64_t Multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t AtLeastOne(uint64_t value) {
  return value == 0 ? 1 : value;
}

// Each level has half the width, height and depth of the one before, and as many layers.
uint64_t BytesOf(const Descriptor& descriptor, unsigned levels) {
  const bool layered = (descriptor.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  const uint64_t element = BytesOf(descriptor.Format) * AtLeastOne(descriptor.NumChannels);
  uint64_t sum = 0;
  for (unsigned level = 0; level < levels && level < 32; ++level) {
    const uint64_t row = RoundUp(Multiply(AtLeastOne(descriptor.Width >> level), element), 512);
    const uint64_t rows = AtLeastOne(descriptor.Height >> level);
    const uint64_t depth = AtLeastOne(layered ? descriptor.Depth : descriptor.Depth >> level);
    if (__builtin_add_overflow(sum, Multiply(Multiply(row, rows), depth), &sum)) return UINT64_MAX;
  }
  return RoundUp(sum, kChunk);
}

template <typename D>
Descriptor Widened(const D& array) {
  Descriptor descriptor{};
  descriptor.Width = array.Width;
  descriptor.Height = array.Height;
  descriptor.Format = array.Format;
  descriptor.NumChannels = array.NumChannels;
  if constexpr (requires { array.Depth; }) {
    descriptor.Depth = array.Depth;
    descriptor.Flags = array.Flags;
  }
  return descriptor;
}

template <typename Array, typename D, typename Call, typename Undo>
CUresult CreateOwn(Sort sort, Array* out, const D& wanted, unsigned levels, Call call, Undo undo) {
  const Descriptor descriptor = Widened(wanted);
  // These have no memory of their own until some is mapped, which its maker counts.
  const bool empty =
      (descriptor.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0;
  const int place = empty ? -1 : CurrentPlace();
  CUcontext const context = place >= 0 || empty ? CurrentOwner() : nullptr;
  if (empty) {
    const CUresult result = call();
    if (result == CUDA_SUCCESS) {
      UncountTiles(TakeTiles((uint64_t)*out));  // of one that went without a call
      Remember(Sort::kSparse, (uint64_t)*out, {.other = (uint64_t)context});
    }
    return result;
  }
  return Allocate(sort, place, BytesOf(descriptor, levels), out, call, undo, (uint64_t)context);
}

// call(out, wanted), undo(array). The driver gets the copy that was read here.
template <typename Array, typename D, typename Call, typename Undo>
CUresult Create(Sort sort, Array* answer, const D* wanted, unsigned levels, Call call, Undo undo) {
  if (answer == nullptr || wanted == nullptr) return call(answer, wanted);
  const D own = *wanted;
  return Answered(answer, [&](Array* out) {
    return CreateOwn(
        sort, out, own, levels, [&] { return call(out, &own); }, [&] { return undo(*out); });
  });
}

// Destroys an array and uncounts its mapped parts.
template <typename Call>
CUresult Destroy(Sort sort, uint64_t array, Call call) {
  Holding holding;
  Table* const table = TheTable();
  if (table == nullptr || !table->Take(Sort::kSparse, array, &holding)) {
    return Free(sort, array, call);
  }
  Tile* const tiles = TakeTiles(array);
  const CUresult result = call();
  if (result == CUDA_SUCCESS) {
    UncountTiles(tiles);
  } else {
    PutTiles(tiles);
    table->Add(Sort::kSparse, array, holding);
  }
  return result;
}

}  // namespace

#define CREATE_ARRAY(name, descriptor)                                                  \
  CUresult name(CUarray* answer, const descriptor* wanted) {                            \
    const Driver& driver = TheDriver();                                                 \
    return Create(Sort::kArray, answer, wanted, 1, driver.name, driver.cuArrayDestroy); \
  }
CREATE_ARRAY(cuArrayCreate, CUDA_ARRAY_DESCRIPTOR_v1)
CREATE_ARRAY(cuArrayCreate_v2, CUDA_ARRAY_DESCRIPTOR)
CREATE_ARRAY(cuArray3DCreate, CUDA_ARRAY3D_DESCRIPTOR_v1)
CREATE_ARRAY(cuArray3DCreate_v2, CUDA_ARRAY3D_DESCRIPTOR)

CUresult cuArrayDestroy(CUarray array) {
  return Destroy(Sort::kArray, (uint64_t)array, [&] { return TheDriver().cuArrayDestroy(array); });
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* answer, const CUDA_ARRAY3D_DESCRIPTOR* wanted,
                                unsigned levels) {
  const Driver& driver = TheDriver();
  const auto call = [&](CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* own) {
    return driver.cuMipmappedArrayCreate(out, own, levels);
  };
  return Create(Sort::kMipmapped, answer, wanted, levels, call, driver.cuMipmappedArrayDestroy);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
  return Destroy(Sort::kMipmapped, (uint64_t)array,
                 [&] { return TheDriver().cuMipmappedArrayDestroy(array); });
}
