// SPDX-License-Identifier: Apache-2.0
// Hooks of NVML's lists of processes, as nvidia-smi shows them. The driver mixes ids of the
// container and of the host, and lists other containers. A limited container sees only its own
// processes, by its own ids, with their counted bytes. The driver is called first and judges the
// call; its answer is dropped.
//
// All are listed as compute processes. The region does not record which ones draw or use MPS, and a
// process in two lists would be shown twice.
#include <sys/mman.h>
#include <time.h>

#include "limiter/accounting/accounting.h"
#include "limiter/driver/nvml.h"
#include "limiter/view/nvml_device.h"
#include "limiter/view/processes.h"

namespace tessera::limiter {
namespace {

constexpr unsigned kNoInstance = ~0u;
constexpr unsigned kComputeMode = 0;  // of nvmlProcessDetailList_v1_t

// The instances of a MIG device.
struct Instances {
  explicit Instances(nvmlDevice_t device) {
    if (TheNvml().nvmlDeviceGetGpuInstanceId(device, &gpu) != NVML_SUCCESS) gpu = kNoInstance;
    if (TheNvml().nvmlDeviceGetComputeInstanceId(device, &compute) != NVML_SUCCESS) {
      compute = kNoInstance;
    }
  }
  unsigned gpu = kNoInstance;
  unsigned compute = kNoInstance;
};

// The processes of all parts of a device, part by part. Not on the stack, since the thread may be
// small.
class Found {
 public:
  explicit Found(const NvmlParts& parts)
      : parts_(parts), size_(static_cast<size_t>(parts.count) * kMaxSlots * sizeof(ProcessView)) {
    void* const memory =
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    processes_ = static_cast<ProcessView*>(memory);
    for (const NvmlParts::Part& part : parts) {
      if (KnowsProcesses(part.place)) {
        count_ += ProcessesOf(part.place, processes_ + count_, kMaxSlots);
      }
      *end_++ = count_;
    }
  }
  ~Found() {
    if (processes_ != nullptr) munmap(processes_, size_);
  }
  Found(const Found&) = delete;
  Found& operator=(const Found&) = delete;

  unsigned count() const { return count_; }
  // each(i, process, instances of its part)
  template <typename Each>
  void ForEach(Each each) const {
    unsigned i = 0;
    for (const unsigned* end = ends_; end < end_; ++end) {
      if (i == *end) continue;
      const Instances instances(parts_.parts[end - ends_].device);
      for (; i < *end; ++i) each(i, processes_[i], instances);
    }
  }

 private:
  const NvmlParts& parts_;
  const size_t size_;
  ProcessView* processes_ = nullptr;
  unsigned count_ = 0;
  unsigned ends_[kMaxDevices] = {};  // of each part
  unsigned* end_ = ends_;
};

bool KnowsAny(const NvmlParts& parts) {
  for (const NvmlParts::Part& part : parts) {
    if (KnowsProcesses(part.place)) return true;
  }
  return false;
}

void Fill(const ProcessView& process, const Instances&, nvmlProcessInfo_v1_t* info) {
  *info = {process.pid, process.bytes};
}
void Fill(const ProcessView& process, const Instances& of, nvmlProcessInfo_v2_t* info) {
  *info = {process.pid, process.bytes, of.gpu, of.compute};
}
void Fill(const ProcessView& process, const Instances& of, nvmlProcessDetail_v1_t* info) {
  *info = {process.pid, process.bytes, of.gpu, of.compute, 0};
}

// The driver's answer to a call that asks only for a number.
bool IsRight(nvmlReturn_t result) {
  return result == NVML_SUCCESS || result == NVML_ERROR_INSUFFICIENT_SIZE;
}

template <typename Info>
nvmlReturn_t Tell(const NvmlParts& parts, bool any, unsigned* count, Info* infos) {
  if (!any) {
    *count = 0;
    return NVML_SUCCESS;
  }
  const Found found(parts);
  const unsigned room = *count;
  *count = found.count();
  if (room < found.count()) return NVML_ERROR_INSUFFICIENT_SIZE;
  if (found.count() == 0) return NVML_SUCCESS;
  if (infos == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  found.ForEach([&](unsigned i, const ProcessView& process, const Instances& instances) {
    Fill(process, instances, &infos[i]);
  });
  return NVML_SUCCESS;
}

template <typename Info>
nvmlReturn_t List(nvmlReturn_t (*real)(nvmlDevice_t, unsigned*, Info*), bool compute,
                  nvmlDevice_t device, unsigned* count, Info* infos) {
  const NvmlParts parts = count != nullptr ? PartsOfNvml(device) : NvmlParts{};
  if (!KnowsAny(parts)) return real(device, count, infos);
  unsigned none = 0;
  const nvmlReturn_t result = real(device, &none, nullptr);
  return IsRight(result) ? Tell(parts, compute, count, infos) : result;
}

nvmlReturn_t ListDetails(nvmlDevice_t device, nvmlProcessDetailList_v1_t* list) {
  const auto real = TheNvml().nvmlDeviceGetRunningProcessDetailList;
  const NvmlParts parts = list != nullptr ? PartsOfNvml(device) : NvmlParts{};
  if (!KnowsAny(parts)) return real(device, list);
  // A newer version would need the driver's own layout.
  if (list->version != kNvmlVersion1<nvmlProcessDetailList_v1_t>) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  nvmlProcessDetailList_v1_t none = {list->version, list->mode, 0, nullptr};
  const nvmlReturn_t result = real(device, &none);
  if (!IsRight(result)) return result;
  return Tell(parts, list->mode == kComputeMode, &list->numProcArrayEntries, list->procArray);
}

// Microseconds since 1970.
unsigned long long TimeStamp() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1'000'000 +
         static_cast<unsigned long long>(now.tv_nsec) / 1'000;
}

void Fill(const ProcessView& process, unsigned long long time,
          nvmlProcessUtilizationSample_t* sample) {
  *sample = {process.pid, time, process.busy, 0, 0, 0};
}
void Fill(const ProcessView& process, unsigned long long time,
          nvmlProcessUtilizationInfo_v1_t* sample) {
  *sample = {time, process.pid, process.busy, 0, 0, 0, 0, 0};
}

// Samples are of this moment: a caller that has seen later ones gets none.
template <typename Sample>
nvmlReturn_t TellUse(const NvmlParts& parts, unsigned long long seen, unsigned* count,
                     Sample* samples) {
  const Found found(parts);
  const unsigned long long now = TimeStamp();
  const unsigned room = *count;
  *count = seen < now ? found.count() : 0;
  if (*count == 0) return NVML_ERROR_NOT_FOUND;
  if (samples == nullptr || room < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
  found.ForEach([&](unsigned i, const ProcessView& process, const Instances&) {
    Fill(process, now, &samples[i]);
  });
  return NVML_SUCCESS;
}

nvmlReturn_t ListUse(nvmlDevice_t device, nvmlProcessUtilizationSample_t* samples, unsigned* count,
                     unsigned long long seen) {
  const auto real = TheNvml().nvmlDeviceGetProcessUtilization;
  const NvmlParts parts = count != nullptr ? PartsOfNvml(device) : NvmlParts{};
  if (!KnowsAny(parts)) return real(device, samples, count, seen);
  unsigned none = 0;
  const nvmlReturn_t result = real(device, nullptr, &none, seen);
  if (!IsRight(result) && result != NVML_ERROR_NOT_FOUND) return result;
  return TellUse(parts, seen, count, samples);
}

nvmlReturn_t ListAllUse(nvmlDevice_t device, nvmlProcessesUtilizationInfo_v1_t* info) {
  const auto real = TheNvml().nvmlDeviceGetProcessesUtilizationInfo;
  const NvmlParts parts = info != nullptr ? PartsOfNvml(device) : NvmlParts{};
  if (!KnowsAny(parts)) return real(device, info);
  if (info->version != kNvmlVersion1<nvmlProcessesUtilizationInfo_v1_t>) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  nvmlProcessesUtilizationInfo_v1_t none = {info->version, 0, info->lastSeenTimeStamp, nullptr};
  const nvmlReturn_t result = real(device, &none);
  if (!IsRight(result) && result != NVML_ERROR_NOT_FOUND) return result;
  return TellUse(parts, info->lastSeenTimeStamp, &info->processSamplesCount, info->procUtilArray);
}

// The driver's accounting of ended processes knows no containers, and the region has none.
template <typename... Words>
nvmlReturn_t Account(nvmlReturn_t (*real)(nvmlDevice_t, Words...), nvmlDevice_t device,
                     Words... words) {
  return KnowsAny(PartsOfNvml(device)) ? NVML_ERROR_NOT_SUPPORTED : real(device, words...);
}

}  // namespace
}  // namespace tessera::limiter

using tessera::limiter::TheNvml;

// NOLINTBEGIN(bugprone-macro-parentheses): types
#define LIST(name, Info, compute)                                                 \
  nvmlReturn_t name(nvmlDevice_t device, unsigned* count, Info* infos) {          \
    return tessera::limiter::List(TheNvml().name, compute, device, count, infos); \
  }
// NOLINTEND(bugprone-macro-parentheses)

LIST(nvmlDeviceGetComputeRunningProcesses, nvmlProcessInfo_v1_t, true)
LIST(nvmlDeviceGetComputeRunningProcesses_v2, nvmlProcessInfo_v2_t, true)
LIST(nvmlDeviceGetComputeRunningProcesses_v3, nvmlProcessInfo_v2_t, true)
LIST(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t, false)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_v2_t, false)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_v2_t, false)
LIST(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t, false)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_v2_t, false)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_v2_t, false)

nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
                                                   nvmlProcessDetailList_v1_t* list) {
  return tessera::limiter::ListDetails(device, list);
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                             nvmlProcessUtilizationSample_t* samples,
                                             unsigned* count, unsigned long long seen) {
  return tessera::limiter::ListUse(device, samples, count, seen);
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device,
                                                   nvmlProcessesUtilizationInfo_v1_t* info) {
  return tessera::limiter::ListAllUse(device, info);
}

nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned* count, unsigned* pids) {
  return tessera::limiter::Account(TheNvml().nvmlDeviceGetAccountingPids, device, count, pids);
}
nvmlReturn_t nvmlDeviceGetAccountingStats(nvmlDevice_t device, unsigned pid, void* stats) {
  return tessera::limiter::Account(TheNvml().nvmlDeviceGetAccountingStats, device, pid, stats);
}
nvmlReturn_t nvmlDeviceGetAccountingStats_v2(nvmlDevice_t device, void* stats) {
  return tessera::limiter::Account(TheNvml().nvmlDeviceGetAccountingStats_v2, device, stats);
}
