// SPDX-License-Identifier: Apache-2.0
// Host memory that a device can read. It takes no memory of the card.
#include <sys/mman.h>

#include <map>
#include <mutex>

#include "cuda/contexts.h"

namespace tessera::fake_cuda {
namespace {

struct HostMemory {
  uint64_t bytes = 0;
  unsigned flags = 0;
  bool registered = false;  // allocated by the program, not by the driver
};
struct Known {
  std::mutex mutex;
  std::map<void*, HostMemory> memory;
};
Known& TheKnown() {
  static auto* const known = new Known();
  return *known;
}

CUresult Allocate(void** out, size_t bytes, unsigned flags) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  NEED_NO_CAPTURE();
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  Known& known = TheKnown();
  const std::lock_guard lock(known.mutex);
  known.memory[at] = {bytes, flags, false};
  *out = at;
  return CUDA_SUCCESS;
}

CUresult Register(void* at, size_t bytes, unsigned flags) {
  if (Current() == nullptr) return Missing();
  if (at == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Known& known = TheKnown();
  const std::lock_guard lock(known.mutex);
  const bool fresh = known.memory.try_emplace(at, bytes, flags, true).second;
  return fresh ? CUDA_SUCCESS : kHostMemoryAlreadyRegistered;
}

// Removes the entry. False: there is none of this kind.
bool Forget(void* at, bool registered, HostMemory& memory) {
  Known& known = TheKnown();
  const std::lock_guard lock(known.mutex);
  const auto found = known.memory.find(at);
  if (found == known.memory.end() || found->second.registered != registered) return false;
  memory = found->second;
  known.memory.erase(found);
  return true;
}

}  // namespace
}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuMemAllocHost_v2(void** out, size_t bytes) {
  return Allocate(out, bytes, 0);
}
FAKE_EXPORT CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  return Allocate(out, bytes, flags);
}
FAKE_EXPORT CUresult cuMemFreeHost(void* at) {
  if (Current() == nullptr) return Missing();
  NEED_NO_CAPTURE();
  HostMemory memory;
  if (!Forget(at, false, memory)) return CUDA_ERROR_INVALID_VALUE;
  munmap(at, memory.bytes);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuMemHostRegister(void* at, size_t bytes, unsigned flags) {
  return Register(at, bytes, flags);
}
FAKE_EXPORT CUresult cuMemHostRegister_v2(void* at, size_t bytes, unsigned flags) {
  return Register(at, bytes, flags);
}
FAKE_EXPORT CUresult cuMemHostUnregister(void* at) {
  if (Current() == nullptr) return Missing();
  HostMemory memory;
  return Forget(at, true, memory) ? CUDA_SUCCESS : kHostMemoryNotRegistered;
}
FAKE_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* at, unsigned flags) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr || at == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUdeviceptr>(at);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuMemHostGetFlags(unsigned* out, void* at) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Known& known = TheKnown();
  const std::lock_guard lock(known.mutex);
  const auto found = known.memory.find(at);
  if (found == known.memory.end()) return CUDA_ERROR_INVALID_VALUE;
  *out = found->second.flags;
  return CUDA_SUCCESS;
}
