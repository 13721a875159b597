// SPDX-License-Identifier: Apache-2.0
// Memory of another interface (Vulkan), imported by descriptor. The driver owns the descriptor
// after the import. The memory stays on its card until the import is destroyed.
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>

#include "cuda/contexts.h"
#include "cuda/memory.h"
#include "cuda/truth.h"

struct CUextMemory_st {
  CUcontext context = nullptr;
  uint64_t bytes = 0;
  tessera::fake_cuda::ObjectName object{};  // none: the host's
};

namespace tessera::fake_cuda {
namespace {

struct External {
  std::mutex mutex;  // guards the members below
  std::map<CUexternalMemory, std::unique_ptr<CUextMemory_st>> all;
  std::map<uint64_t, CUexternalMemory> buffers;  // by address
};
External& TheExternal() {
  static auto* const external = new External();
  return *external;
}

void LetGo(const CUextMemory_st& memory) {
  if (!memory.object.is_none()) TheDriver()->state->objects().LetGo(memory.object);
}

// Finds the descriptor's memory and holds it. False: it has none, or less than the program says.
bool Read(int file, CUextMemory_st& memory) {
  FileContent exported;
  if (pread(file, &exported, sizeof exported, 0) != sizeof exported) return false;
  if (exported.magic != FileContent::kCudas && exported.magic != FileContent::kExternal)
    return false;
  Objects& objects = TheDriver()->state->objects();
  if (!objects.Hold(exported.object)) return false;
  memory.object = exported.object;
  const bool is_that_large = memory.bytes <= objects.BytesOf(exported.object);
  if (!is_that_large) LetGo(memory);
  return is_that_large;
}

}  // namespace

void DropExternalOf(CUcontext context) {
  External& external = TheExternal();
  const std::lock_guard lock(external.mutex);
  std::erase_if(external.all, [&](const auto& one) {
    if (one.second->context != context) return false;
    LetGo(*one.second);
    return true;
  });
}

bool FreeMappedBuffer(uint64_t address) {
  External& external = TheExternal();
  const std::lock_guard external_lock(external.mutex);
  if (external.buffers.erase(address) == 0) return false;
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  space.Free(address);
  return true;
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT int fakecuda_export(const char* uuid, uint64_t bytes) {
  State& state = *TheDriver()->state;
  const unsigned card = state.Find(uuid);
  if (card == kMostCards || !state.Take(card, bytes)) return -1;
  FileContent exported;
  exported.magic = FileContent::kExternal;
  exported.object = state.Export(card, bytes);
  const int file = state.objects().Open(exported.object, &exported, sizeof exported);
  state.objects().LetGo(exported.object);
  return file;
}

FAKE_EXPORT CUresult cuImportExternalMemory(CUexternalMemory* out,
                                            const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* what) {
  NEED_CONTEXT(context);
  if (out == nullptr || what == nullptr || what->size == 0) return CUDA_ERROR_INVALID_VALUE;
  const bool is_host = what->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD;
  if (!is_host && what->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  auto memory = std::make_unique<CUextMemory_st>();
  memory->context = context;
  memory->bytes = what->size;
  if (!is_host && !Read(what->handle.fd, *memory)) return CUDA_ERROR_INVALID_VALUE;
  close(what->handle.fd);
  External& external = TheExternal();
  const std::lock_guard lock(external.mutex);
  *out = memory.get();
  external.all[*out] = std::move(memory);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuDestroyExternalMemory(CUexternalMemory handle) {
  if (Current() == nullptr) return Missing();
  External& external = TheExternal();
  const std::lock_guard lock(external.mutex);
  const auto found = external.all.find(handle);
  if (found == external.all.end()) return CUDA_ERROR_INVALID_HANDLE;
  LetGo(*found->second);
  external.all.erase(found);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* out, CUexternalMemory handle,
                                                     const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* what) {
  NEED_CONTEXT(context);
  if (out == nullptr || what == nullptr || what->size == 0) return CUDA_ERROR_INVALID_VALUE;
  External& external = TheExternal();
  const std::lock_guard external_lock(external.mutex);
  const auto found = external.all.find(handle);
  if (found == external.all.end()) return CUDA_ERROR_INVALID_HANDLE;
  const uint64_t bytes = found->second->bytes;
  if (what->size > bytes || what->offset > bytes - what->size) return CUDA_ERROR_INVALID_VALUE;
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  const uint64_t begin = space.Reserve(what->size, {.kind = Kind::kImported,
                                                    .device = static_cast<uint8_t>(context->device),
                                                    .bytes = what->size});
  if (begin == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  external.buffers[begin] = handle;
  *out = begin;
  return CUDA_SUCCESS;
}
