// SPDX-License-Identifier: Apache-2.0
// CUDA's IPC: memory of another process, which the card has only once. It stays until the last
// process that opened it has closed it, even if its maker frees it or ends.
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "cuda/contexts.h"
#include "cuda/memory.h"

namespace tessera::fake_cuda {
namespace {

constexpr uint32_t kMagic = 0x6d656d31;

// The content of a handle.
struct Exported {
  uint32_t magic;
  int32_t pid;
  uint64_t address;
  uint64_t bytes;
  ObjectName object;  // none: a small block; opening it does not hold it
  uint32_t slot;      // the exporting process's
  uint32_t padding[5];
};
static_assert(sizeof(Exported) == sizeof(CUipcMemHandle));

// Memory that this process opened. Opening it again returns the same address.
struct Opened {
  Exported what;
  CUcontext context;
  unsigned times;
};
struct Imports {
  std::mutex mutex;                // guards the members below
  std::map<uint64_t, Opened> all;  // by address
};
Imports& TheImports() {
  static auto* const imports = new Imports();
  return *imports;
}

// Releases the memory and its address.
void Drop(const std::pair<const uint64_t, Opened>& import) {
  const auto& [address, opened] = import;
  if (!opened.what.object.is_none()) TheDriver()->state->objects().LetGo(opened.what.object);
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  space.Free(address);
}

CUresult Open(CUdeviceptr* out, const CUipcMemHandle& handle, unsigned flags) {
  NEED_CONTEXT(context);
  constexpr unsigned kLazyPeerAccess = 1;
  if (out == nullptr || flags != kLazyPeerAccess) return CUDA_ERROR_INVALID_VALUE;
  Exported exported{};
  std::memcpy(static_cast<void*>(&exported), &handle, sizeof exported);
  if (exported.magic != kMagic || exported.bytes == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (exported.pid == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  Imports& imports = TheImports();
  const std::lock_guard imports_lock(imports.mutex);
  for (auto& [address, opened] : imports.all) {
    if (std::memcmp(&opened.what, &exported, sizeof exported) != 0) continue;
    ++opened.times;
    *out = address;
    return CUDA_SUCCESS;
  }
  Objects& objects = TheDriver()->state->objects();
  if (!exported.object.is_none()) {
    // The exporting process must still hold it.
    if (!objects.IsHeldBy(exported.object, exported.slot)) return CUDA_ERROR_INVALID_VALUE;
    if (!objects.Hold(exported.object)) return CUDA_ERROR_INVALID_VALUE;
  }
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  const uint64_t begin =
      space.Reserve(exported.bytes, {.kind = Kind::kImported,
                                     .device = static_cast<uint8_t>(context->device),
                                     .bytes = exported.bytes,
                                     .heap = &context->heap});
  if (begin == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  imports.all[begin] = {exported, context, 1};
  *out = begin;
  return CUDA_SUCCESS;
}

}  // namespace

void DropImportsOf(CUcontext context) {
  Imports& imports = TheImports();
  const std::lock_guard lock(imports.mutex);
  std::erase_if(imports.all, [context](const auto& import) {
    if (import.second.context != context) return false;
    Drop(import);
    return true;
  });
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle* out, CUdeviceptr address) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::optional<Block> block = FindBlock(address);
  const bool is_block = block && block->address == address &&
                        (block->range.kind == Kind::kBlock || block->range.kind == Kind::kShared);
  if (!is_block) return CUDA_ERROR_INVALID_VALUE;
  Exported exported{};
  exported.magic = kMagic;
  exported.pid = getpid();
  exported.address = address;
  exported.bytes = block->bytes;
  exported.object = ExportBlock(address);
  exported.slot = TheDriver()->state->own_slot();
  std::memcpy(out, &exported, sizeof exported);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuIpcOpenMemHandle(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) {
  return Open(out, handle, flags);
}
FAKE_EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* out, CUipcMemHandle handle,
                                           unsigned flags) {
  return Open(out, handle, flags);
}

FAKE_EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  if (Current() == nullptr) return Missing();
  Imports& imports = TheImports();
  const std::lock_guard imports_lock(imports.mutex);
  const auto opened = imports.all.find(address);
  if (opened == imports.all.end()) return CUDA_ERROR_INVALID_VALUE;
  if (--opened->second.times > 0) return CUDA_SUCCESS;
  Drop(*opened);
  imports.all.erase(opened);
  return CUDA_SUCCESS;
}
