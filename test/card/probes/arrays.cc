// SPDX-License-Identifier: Apache-2.0
// Arrays with memory of their own, and sparse ones that have what is mapped into them.
#include "card/probes/helpers.h"
#include "card/probes/steps.h"

namespace tessera::card {
namespace {

CUarray array = nullptr;
CUmipmappedArray levels = nullptr;

void Destroy() {
  if (array != nullptr) CU(cuArrayDestroy)(array);
  array = nullptr;
}
void DestroyLevels() {
  if (levels != nullptr) CU(cuMipmappedArrayDestroy)(levels);
  levels = nullptr;
}

constexpr unsigned kWidth = 4096;  // of 4 bytes each

// Of one channel of floats; the four layouts name their members alike.
template <typename Descriptor>
Descriptor Wanted(uint64_t bytes) {
  Descriptor wanted{};
  wanted.Width = kWidth;
  wanted.Height = static_cast<unsigned>(bytes / kWidth / 4);
  wanted.Format = CU_AD_FORMAT_FLOAT;
  wanted.NumChannels = 1;
  return wanted;
}

template <typename Descriptor, typename Function>
CUresult Create(uint64_t bytes, Function* function) {
  const auto wanted = Wanted<Descriptor>(bytes);
  return function(&array, &wanted);
}

template <typename Function>
CUresult MapTiles(uint64_t bytes, Function* function) {
  auto wanted = Wanted<CUDA_ARRAY3D_DESCRIPTOR>(bytes);
  wanted.Flags = CUDA_ARRAY3D_SPARSE;
  CUmemAllocationProp tiles = Pinned();
  tiles.allocFlags.usage = 1;  // of tiles
  CUarrayMapInfo part{};
  FirstFailure mapped;
  mapped << CU(cuArray3DCreate_v2)(&array, &wanted)
         << CU(cuMemCreate)(&part.memHandle, bytes, &tiles, 0);
  if (mapped.result != CUDA_SUCCESS) return mapped.result;
  part.resource = array;
  part.subresource.sparseLevel.extentWidth = kWidth;
  part.subresource.sparseLevel.extentHeight = static_cast<unsigned>(wanted.Height);
  part.subresource.sparseLevel.extentDepth = 1;
  part.memOperationType = 1;
  part.deviceBitMask = 1;
  mapped << function(&part, 1, nullptr);
  Synchronize();
  mapped << CU(cuMemRelease)(part.memHandle);
  return mapped.result;
}

constexpr Step kSteps[] = {
    {"cuArrayCreate_v2 cuArrayDestroy",
     [](uint64_t bytes) { return Create<CUDA_ARRAY_DESCRIPTOR>(bytes, CU(cuArrayCreate_v2)); },
     Destroy},
    {"cuArrayCreate",
     [](uint64_t bytes) { return Create<CUDA_ARRAY_DESCRIPTOR_v1>(bytes, CU(cuArrayCreate)); },
     Destroy},
    {"cuArray3DCreate_v2",
     [](uint64_t bytes) { return Create<CUDA_ARRAY3D_DESCRIPTOR>(bytes, CU(cuArray3DCreate_v2)); },
     Destroy},
    {"cuArray3DCreate",
     [](uint64_t bytes) { return Create<CUDA_ARRAY3D_DESCRIPTOR_v1>(bytes, CU(cuArray3DCreate)); },
     Destroy},
    {"cuMipmappedArrayCreate cuMipmappedArrayDestroy",
     [](uint64_t bytes) {
       const auto wanted = Wanted<CUDA_ARRAY3D_DESCRIPTOR>(bytes);
       return CU(cuMipmappedArrayCreate)(&levels, &wanted, 3);
     },
     DestroyLevels, "3 levels"},
    {"cuMemMapArrayAsync", [](uint64_t bytes) { return MapTiles(bytes, CU(cuMemMapArrayAsync)); },
     Destroy, "a sparse array"},
    {"cuMemMapArrayAsync_ptsz",
     [](uint64_t bytes) { return MapTiles(bytes, CU(cuMemMapArrayAsync_ptsz)); }, Destroy,
     "a sparse array"},
};

}  // namespace

std::span<const Step> ArraySteps() {
  return kSteps;
}

}  // namespace tessera::card
