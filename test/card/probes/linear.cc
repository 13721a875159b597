// SPDX-License-Identifier: Apache-2.0
// Linear memory: blocks, small blocks, rows, and managed memory.
#include <vector>

#include "card/probes/steps.h"

namespace tessera::card {
namespace {

CUdeviceptr block = 0;
std::vector<CUdeviceptr> small;

void Free() {
  if (block != 0) CU(cuMemFree_v2)(block);
  block = 0;
}

constexpr Step kSteps[] = {
    {"cuMemAlloc_v2 cuMemFree_v2", [](uint64_t bytes) { return CU(cuMemAlloc_v2)(&block, bytes); },
     Free},
    {"cuMemAllocPitch_v2",
     [](uint64_t bytes) {
       size_t pitch = 0;
       const CUresult result = CU(cuMemAllocPitch_v2)(&block, &pitch, 65'000, bytes / 65'536, 4);
       Say("pitch " + std::to_string(pitch));
       return result;
     },
     Free, "rows of 65000"},
    {"cuMemAllocManaged", [](uint64_t bytes) { return CU(cuMemAllocManaged)(&block, bytes, 1); },
     Free, "untouched"},
};

}  // namespace

std::span<const Step> LinearSteps() {
  return kSteps;
}

}  // namespace tessera::card
