// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/newcomer.h"

#include <sys/mman.h>

#include "limiter/log/kept_errno.h"
#include "limiter/memory/devices.h"

namespace tessera::limiter {
namespace {

constexpr unsigned kMost = 1024;
constexpr size_t kSize = 2 * kMost * sizeof(nvmlProcessInfo_v2_t);

using Lister = decltype(&nvmlDeviceGetComputeRunningProcesses_v3);

// Adds the processes that one function, or its older version, lists. False: too many, or NVML does
// not answer.
bool Add(Lister newer, Lister older, nvmlDevice_t device, nvmlProcessInfo_v2_t* processes,
         unsigned* count) {
  const Lister lists[] = {newer, older};
  for (const Lister list : lists) {
    unsigned more = kMost - *count;
    const nvmlReturn_t result = list(device, &more, processes + *count);
    if (result == NVML_ERROR_FUNCTION_NOT_FOUND) continue;
    if (result == NVML_SUCCESS) *count += more;
    return result == NVML_SUCCESS;
  }
  return false;
}

// Clients of MPS have a list of their own.
bool List(nvmlDevice_t device, nvmlProcessInfo_v2_t* processes, unsigned* count) {
  const Nvml& nvml = TheNvml();
  *count = 0;
  return Add(nvml.nvmlDeviceGetComputeRunningProcesses_v3,
             nvml.nvmlDeviceGetComputeRunningProcesses_v2, device, processes, count) &&
         Add(nvml.nvmlDeviceGetMPSComputeRunningProcesses_v3,
             nvml.nvmlDeviceGetMPSComputeRunningProcesses_v2, device, processes, count);
}

}  // namespace

NewContext::NewContext(CUdevice device) {
  const KeptErrno kept;
  UuidText uuid;
  if (!nvml_ || !UuidOf(device, &uuid)) return;
  if (TheNvml().nvmlDeviceGetHandleByUUID(uuid.text, &device_) != NVML_SUCCESS) return;
  void* const memory =
      mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  before_ = static_cast<nvmlProcessInfo_v2_t*>(memory);
  if (List(device_, before_, &count_)) return;
  munmap(before_, kSize);
  before_ = nullptr;
}

NewContext::~NewContext() {
  const KeptErrno kept;
  if (before_ != nullptr) munmap(before_, kSize);
}

uint64_t NewContext::Bytes() const {
  const KeptErrno kept;
  if (before_ == nullptr) return 0;
  nvmlProcessInfo_v2_t* const now = before_ + kMost;
  unsigned count = 0;
  if (!List(device_, now, &count)) return 0;
  const nvmlProcessInfo_v2_t* found = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    unsigned at = 0;
    while (at < count_ && before_[at].pid != now[i].pid) ++at;
    if (at < count_) continue;
    if (found != nullptr && found->pid != now[i].pid) return 0;
    found = &now[i];
  }
  constexpr unsigned long long kNotTold = ~0ULL;
  return found == nullptr || found->usedGpuMemory == kNotTold ? 0 : found->usedGpuMemory;
}

}  // namespace tessera::limiter
