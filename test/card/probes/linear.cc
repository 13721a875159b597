// SPDX-License-Identifier: Apache-2.0
// Linear memory: blocks, small blocks, rows, and managed memory, which is moved to the device.
#include <vector>

#include "card/probes/helpers.h"
#include "card/probes/steps.h"

namespace tessera::card {
namespace {

CUdeviceptr block = 0;

void Free() {
  if (block != 0) CU(cuMemFree_v2)(block);
  block = 0;
}

// Managed memory, and what sends its pages to the device.
template <typename Move>
CUresult Managed(uint64_t bytes, Move move) {
  FirstFailure moved;
  moved << CU(cuMemAllocManaged)(&block, bytes, 1);
  if (moved.result == CUDA_SUCCESS) moved << move();
  Synchronize();
  return moved.result;
}

CUmemLocation ToDevice() {
  return {CU_MEM_LOCATION_TYPE_DEVICE, 0};
}

template <typename Function>
CUresult InBatch(uint64_t bytes, Function* function) {
  return Managed(bytes, [&] {
    CUmemLocation place = ToDevice();
    size_t size = bytes, first = 0;
    return function(&block, &size, 1, &place, &first, 1, 0, NewStream());
  });
}

// Those of CUDA 2 have addresses of 32 bits.
CUdeviceptr_v1 old_block = 0;

constexpr int kPreferredLocation = 3;

constexpr Step kSteps[] = {
    {"cuMemAlloc_v2 cuMemFree_v2", [](uint64_t bytes) { return CU(cuMemAlloc_v2)(&block, bytes); },
     Free},
    {"cuMemAlloc_v2", [](uint64_t bytes) { return CU(cuMemAlloc_v2)(&block, bytes + 1); }, Free,
     "one byte more"},
    {"cuMemAllocPitch_v2",
     [](uint64_t bytes) {
       size_t pitch = 0;
       const CUresult result = CU(cuMemAllocPitch_v2)(&block, &pitch, 65'000, bytes / 65'536, 4);
       Say("pitch " + std::to_string(pitch));
       return result;
     },
     Free, "rows of 65000"},
    {"cuMemAlloc cuMemFree",
     [](uint64_t bytes) { return CU(cuMemAlloc)(&old_block, static_cast<unsigned>(bytes)); },
     [] { Say("freed " + std::to_string(CU(cuMemFree)(old_block))); }},
    {"cuMemAllocPitch cuMemFree",
     [](uint64_t bytes) {
       unsigned pitch = 0;
       const auto rows = static_cast<unsigned>(bytes / 65'536);
       return CU(cuMemAllocPitch)(&old_block, &pitch, 65'000, rows, 4);
     },
     [] { Say("freed " + std::to_string(CU(cuMemFree)(old_block))); }},
    {"cuMemAllocManaged", [](uint64_t bytes) { return CU(cuMemAllocManaged)(&block, bytes, 1); },
     Free, "untouched"},
    {"cuMemAllocManaged cuMemPrefetchAsync",
     [](uint64_t bytes) {
       return Managed(bytes, [&] { return CU(cuMemPrefetchAsync)(block, bytes, 0, nullptr); });
     },
     Free},
    {"cuMemPrefetchAsync_ptsz",
     [](uint64_t bytes) {
       return Managed(bytes, [&] { return CU(cuMemPrefetchAsync_ptsz)(block, bytes, 0, nullptr); });
     },
     Free},
    {"cuMemPrefetchAsync_v2",
     [](uint64_t bytes) {
       return Managed(
           bytes, [&] { return CU(cuMemPrefetchAsync_v2)(block, bytes, ToDevice(), 0, nullptr); });
     },
     Free},
    {"cuMemPrefetchAsync_v2_ptsz",
     [](uint64_t bytes) {
       return Managed(bytes, [&] {
         return CU(cuMemPrefetchAsync_v2_ptsz)(block, bytes, ToDevice(), 0, nullptr);
       });
     },
     Free},
    {"cuMemPrefetchBatchAsync",
     [](uint64_t bytes) { return InBatch(bytes, CU(cuMemPrefetchBatchAsync)); }, Free},
    {"cuMemPrefetchBatchAsync_ptsz",
     [](uint64_t bytes) { return InBatch(bytes, CU(cuMemPrefetchBatchAsync_ptsz)); }, Free},
    {"cuMemDiscardAndPrefetchBatchAsync",
     [](uint64_t bytes) { return InBatch(bytes, CU(cuMemDiscardAndPrefetchBatchAsync)); }, Free},
    {"cuMemDiscardAndPrefetchBatchAsync_ptsz",
     [](uint64_t bytes) { return InBatch(bytes, CU(cuMemDiscardAndPrefetchBatchAsync_ptsz)); },
     Free},
    {"cuMemAdvise",
     [](uint64_t bytes) {
       return Managed(bytes, [&] { return CU(cuMemAdvise)(block, bytes, kPreferredLocation, 0); });
     },
     Free, "to be on the device"},
    {"cuMemAdvise_v2",
     [](uint64_t bytes) {
       return Managed(
           bytes, [&] { return CU(cuMemAdvise_v2)(block, bytes, kPreferredLocation, ToDevice()); });
     },
     Free, "to be on the device"},
    {"cuGetProcAddress",
     [](uint64_t bytes) {
       void* found = nullptr;
       const CUresult result = CU(cuGetProcAddress)("cuMemAlloc", &found, 12000, 0);
       if (result != CUDA_SUCCESS) return result;
       return reinterpret_cast<decltype(&cuMemAlloc_v2)>(found)(&block, bytes);
     },
     Free, "cuMemAlloc by it"},
    {"cuGetProcAddress_v2",
     [](uint64_t bytes) {
       void* found = nullptr;
       CUdriverProcAddressQueryResult why{};
       const CUresult result = CU(cuGetProcAddress_v2)("cuMemAlloc", &found, 12000, 0, &why);
       if (result != CUDA_SUCCESS) return result;
       return reinterpret_cast<decltype(&cuMemAlloc_v2)>(found)(&block, bytes);
     },
     Free, "cuMemAlloc by it"},
    {"cuMemGetInfo_v2 cuMemGetInfo cuDeviceTotalMem_v2 cuDeviceTotalMem",
     [](uint64_t) {
       size_t free = 0, total = 0, whole = 0;
       unsigned few = 0, all = 0, old_whole = 0;
       FirstFailure told;
       told << CU(cuMemGetInfo_v2)(&free, &total) << CU(cuDeviceTotalMem_v2)(&whole, 0)
            << CU(cuMemGetInfo)(&few, &all) << CU(cuDeviceTotalMem)(&old_whole, 0);
       Say("total " + std::to_string(total) + ", device " + std::to_string(whole) +
           ", of 32 bits " + std::to_string(all) + ", device " + std::to_string(old_whole));
       return told.result;
     },
     [] {}, "what it sees"},
};

}  // namespace

std::span<const Step> LinearSteps() {
  return kSteps;
}

}  // namespace tessera::card
