// SPDX-License-Identifier: Apache-2.0
// Memory of other interfaces, such as Vulkan, that CUDA imports. It was not counted when it was
// made, so it is counted for the importer. The declared size counts, since no more can be mapped.
// It counts as long as it is imported; the context's end also ends that.
#include "limiter/memory/charge.h"
#include "limiter/memory/contexts.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

// Bytes. The least that a driver maps.
constexpr uint64_t kPage = 64 << 10;

// Bytes of the current device; 0: none, or the driver refuses the call. A dma-buf is host memory,
// imported where the GPU has no memory of its own (Tegra).
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
  // Past the limit the driver is not called, so the descriptor stays the program's.
  return Allocate(Sort::kExternal, place, bytes, out, call, undo, context);
}

}  // namespace

CUresult cuImportExternalMemory(CUexternalMemory* answer,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* what) {
  // The driver gets the copy that was read here.
  const auto own = what != nullptr ? *what : CUDA_EXTERNAL_MEMORY_HANDLE_DESC{};
  return Answered(
      answer, [&](CUexternalMemory* out) { return Import(out, what != nullptr ? &own : nullptr); });
}

CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
  return Free(Sort::kExternal, (uint64_t)memory,
              [memory] { return TheDriver().cuDestroyExternalMemory(memory); });
}
