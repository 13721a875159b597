// SPDX-License-Identifier: Apache-2.0
// In what grains memory is given, and whether limits hold to the byte.
#include <vector>

#include "card/probes/helpers.h"
#include "card/probes/steps.h"
#include "card/probes/watch.h"

namespace tessera::card {
namespace {

std::vector<CUdeviceptr> blocks;

CUresult Take(uint64_t bytes) {
  CUdeviceptr block = 0;
  const CUresult result = CU(cuMemAlloc_v2)(&block, bytes);
  if (result == CUDA_SUCCESS) blocks.push_back(block);
  return result;
}
void FreeAll() {
  for (const CUdeviceptr block : blocks) CU(cuMemFree_v2)(block);
  blocks.clear();
}

// How many of such blocks fit into what the first one took, of the card.
template <uint64_t kBytes>
CUresult Share(uint64_t) {
  // Many small ones are as one: asking costs more than taking.
  constexpr int kAtOnce = kBytes < 4096 ? 64 : 1;
  constexpr uint64_t kMost = kBytes < 4096 ? 16'384 : kTaken / kBytes;
  const Amounts before = Measure();
  FirstFailure taken;
  taken << Take(kBytes);
  const Amounts first = Measure();
  Amounts now = first;
  while (taken.result == CUDA_SUCCESS && blocks.size() < kMost && now.card == first.card) {
    for (int i = 0; i < kAtOnce; ++i) taken << Take(kBytes);
    now = Measure();
  }
  Say("the first took " + std::to_string(first.card - before.card) + ", the next came with " +
      std::to_string(blocks.size() - 1) + " more; then counted " +
      std::to_string(now.counted - before.counted) + ", taken " +
      std::to_string(now.card - before.card));
  if (blocks.size() > 1) {
    Say(std::to_string(static_cast<long long>(blocks[1] - blocks[0])) + " bytes apart");
  }
  return taken.result;
}

template <int kFlag>
CUresult SayGranularity(uint64_t) {
  const CUmemAllocationProp wanted = Pinned();
  size_t bytes = 0;
  const CUresult result = CU(cuMemGetAllocationGranularity)(
      &bytes, &wanted, static_cast<CUmemAllocationGranularity_flags>(kFlag));
  Say(std::to_string(bytes) + " bytes");
  return result;
}

// In ever smaller pieces until nothing is given: what is counted never passes the limit.
CUresult FillUp(uint64_t bytes) {
  CUresult refused = CUDA_SUCCESS;
  for (uint64_t piece = bytes; piece >= 512; piece /= 2) {
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < 6000 && result == CUDA_SUCCESS; ++i) result = Take(piece);
    if (result != CUDA_SUCCESS) refused = result;
  }
  const Amounts full = Measure();
  size_t free = 0, total = 0;
  CU(cuMemGetInfo_v2)(&free, &total);
  const long long beyond = static_cast<long long>(full.processes) - static_cast<long long>(kLimit);
  Say("refused with " + std::to_string(refused) + "; of " + std::to_string(kLimit) + " counted " +
      std::to_string(full.counted) + ", free " + std::to_string(free) +
      "; taken beyond the limit " + std::to_string(beyond));
  CU(cuMemFree_v2)(blocks.front());
  blocks.erase(blocks.begin());
  return Take(bytes);
}

template <int kLimitOfContext>
CUresult SayLimit(uint64_t) {
  size_t bytes = 0;
  const CUresult result = CU(cuCtxGetLimit)(&bytes, static_cast<CUlimit>(kLimitOfContext));
  Say(std::to_string(bytes) + " bytes");
  return result;
}

constexpr Step kSteps[] = {
    {"cuMemAlloc_v2", Share<1>, FreeAll, "blocks of 1 byte"},
    {"cuMemAlloc_v2", Share<4096>, FreeAll, "blocks of 4 KiB"},
    {"cuMemAlloc_v2", Share<256 << 10>, FreeAll, "blocks of 256 KiB"},
    {"cuMemAlloc_v2", Share<512 << 10>, FreeAll, "blocks of 512 KiB"},
    {"cuMemAlloc_v2", Share<1 << 20>, FreeAll, "blocks of 1 MiB"},
    {"cuMemAlloc_v2", Share<(1 << 20) + 1>, FreeAll, "blocks of 1 MiB and a byte"},
    {"cuMemAlloc_v2", Share<3 << 20>, FreeAll, "blocks of 3 MiB"},
    {"", SayGranularity<CU_MEM_ALLOC_GRANULARITY_MINIMUM>, [] {}, "least of virtual memory"},
    {"", SayGranularity<CU_MEM_ALLOC_GRANULARITY_RECOMMENDED>, [] {},
     "recommended of virtual memory"},
    {"", SayLimit<CU_LIMIT_STACK_SIZE>, [] {}, "stack of a thread"},
    {"", SayLimit<CU_LIMIT_PRINTF_FIFO_SIZE>, [] {}, "printf's buffer"},
    {"", SayLimit<CU_LIMIT_MALLOC_HEAP_SIZE>, [] {}, "malloc's heap"},
    {"cuMemAlloc_v2", FillUp, FreeAll, "the limit to the byte", true},
};

}  // namespace

std::span<const Step> SizeSteps() {
  return kSteps;
}

}  // namespace tessera::card
