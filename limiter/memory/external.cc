// SPDX-License-Identifier: Apache-2.0
// Memory of other interfaces, such as Vulkan, that CUDA imports. Nobody counted it when it was
// made: it is counted for who imports it, by the size that it says, of which more cannot be mapped.
// As long as it is imported: CUDA ends that with the context as well.
#include "limiter/memory/charge.h"
#include "limiter/memory/contexts.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

// The least that a driver maps.
constexpr uint64_t kPage = 64 << 10;

// What it takes of the current device; 0: nothing, or that is the driver's to refuse. A dma-buf is
// the host's: it is imported where the GPU has no memory of its own (Tegra).
uint64_t BytesOf(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* what) {
  if (what == nullptr || what->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD) return 0;
  return RoundUp(what->size, kPage);
}

CUresult Import(CUexternalMemory* out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* what) {
  const Driver& driver = TheDriver();
  const auto call = [&] { return driver.cuImportExternalMemory(out, what); };
  const auto undo = [&] { return driver.cuDestroyExternalMemory(*out); };
  const uint64_t bytes = out == nullptr ? 0 : BytesOf(what);
  const int place = bytes == 0 ? -1 : CurrentPlace();
  if (place < 0) return call();
  const auto context = (uint64_t)CurrentOwner();
  // Past the limit the driver is not asked, so that the descriptor stays the program's.
  return Allocate(Sort::kExternal, place, bytes, out, call, undo, context);
}

}  // namespace

CUresult cuImportExternalMemory(CUexternalMemory* answer,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* what) {
  // The driver is to read what was read here.
  const auto own = what != nullptr ? *what : CUDA_EXTERNAL_MEMORY_HANDLE_DESC{};
  return Answered(
      answer, [&](CUexternalMemory* out) { return Import(out, what != nullptr ? &own : nullptr); });
}

CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
  return Free(Sort::kExternal, (uint64_t)memory,
              [memory] { return TheDriver().cuDestroyExternalMemory(memory); });
}
