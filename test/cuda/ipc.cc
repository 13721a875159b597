// SPDX-License-Identifier: Apache-2.0
// Memory of another process: it stays that one's, and the card has it once.
#include <unistd.h>

#include <cstring>
#include <mutex>

#include "cuda/contexts.h"
#include "cuda/memory.h"

namespace tessera::fake_cuda {
namespace {

constexpr uint32_t kMagic = 0x6d656d31;

// What a handle has in it.
struct Exported {
  uint32_t magic;
  int32_t pid;
  uint64_t address;
  uint64_t bytes;
  char uuid[40];  // of the card
};
static_assert(sizeof(Exported) == sizeof(CUipcMemHandle));

CUresult Open(CUdeviceptr* out, const CUipcMemHandle& handle, unsigned flags) {
  NEED_CONTEXT(context);
  constexpr unsigned kLazyPeerAccess = 1;
  if (out == nullptr || flags != kLazyPeerAccess) return CUDA_ERROR_INVALID_VALUE;
  Exported exported{};
  std::memcpy(&exported, &handle, sizeof exported);
  if (exported.magic != kMagic || exported.bytes == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (exported.pid == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  const uint64_t begin =
      space.Reserve(exported.bytes, {.kind = Kind::kImported,
                                     .device = static_cast<uint8_t>(context->device),
                                     .bytes = exported.bytes});
  if (begin == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = begin;
  return CUDA_SUCCESS;
}

}  // namespace
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
  const std::string& uuid = TheDriver()->node.devices[block->range.device].uuid;
  uuid.copy(exported.uuid, sizeof exported.uuid);
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
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  const Range* range = space.At(address);
  if (address % kChunk != 0 || range == nullptr || range->kind != Kind::kImported)
    return CUDA_ERROR_INVALID_VALUE;
  space.Free(address);
  return CUDA_SUCCESS;
}
