// SPDX-License-Identifier: Apache-2.0
// NVML's functions about the processes on a GPU. TESSERA_FAKE_NVML_PROCESSES lists the host's pids
// and bytes of compute processes on every GPU: "4242:1024 17:5". Processes that have a context of
// the fake CUDA are added. The structs follow each version in NVIDIA's nvml.h, not the limiter's
// declarations. So a test finds a wrong layout in the limiter.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "cuda/state.h"
#include "nvml/driver.h"

namespace tessera::nvml {
namespace {

constexpr unsigned kNoInstance = 0xFFFFFFFF;
constexpr unsigned kDetailVersion = 0x01000018;
constexpr unsigned kUseVersion = 0x01000018;
constexpr Return kVersionMismatch{25};

struct InfoV1 {
  uint32_t pid;
  uint64_t bytes;
};
struct InfoV2 {
  uint32_t pid;
  uint64_t bytes;
  uint32_t gpu_instance;
  uint32_t compute_instance;
};
struct Detail {
  uint32_t pid;
  uint64_t bytes;
  uint32_t gpu_instance;
  uint32_t compute_instance;
  uint64_t protected_bytes;
};
struct DetailList {
  uint32_t version;
  uint32_t mode;
  uint32_t count;
  Detail* details;
};
struct Sample {
  uint32_t pid;
  uint64_t time;
  uint32_t sm;
  uint32_t memory;
  uint32_t encoder;
  uint32_t decoder;
};
struct Use {
  uint64_t time;
  uint32_t pid;
  uint32_t sm;
  uint32_t others[5];
};
struct UseList {
  uint32_t version;
  uint32_t count;
  uint64_t seen;
  Use* uses;
};

struct AccountV1 {
  uint32_t sm;
  uint32_t memory;
  uint64_t bytes;
  uint64_t time;
  uint64_t began;
  uint32_t runs;
  uint32_t reserved[5];
};
struct AccountV2 {
  uint32_t pid;
  uint32_t runs;
  uint32_t sm;
  uint32_t memory;
  uint64_t bytes;
  uint32_t samples;
  uint64_t sums[4];
};

constexpr uint64_t kSampledAt = 1'700'000'000'000'000;  // microseconds

std::vector<InfoV1> Processes() {
  std::vector<InfoV1> processes;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes it
  const char* text = getenv("TESSERA_FAKE_NVML_PROCESSES");
  while (text != nullptr && *text != '\0') {
    char* end = nullptr;
    InfoV1 process{};
    process.pid = static_cast<uint32_t>(strtoul(text, &end, 10));
    if (*end != ':') break;
    process.bytes = strtoull(end + 1, &end, 10);
    processes.push_back(process);
    text = *end == ' ' ? end + 1 : end;
  }
  return processes;
}

// Calls `look` with the fake CUDA's shared state and the device's card, if that has such a card.
template <class Look>
void LookAtCuda(const OpaqueDevice& device, const Look& look) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes it
  const char* directory = getenv("TESSERA_FAKE_CUDA");
  const std::string path = std::string(directory == nullptr ? "" : directory) + "/fake-cuda.state";
  if (directory == nullptr || access(path.c_str(), F_OK) != 0) return;
  const auto state = fake_cuda::State::Open(directory, 0);
  const unsigned card =
      state == nullptr ? fake_cuda::kMostCards
                       : state->Find(device.mig == nullptr ? device.gpu->uuid : device.mig->uuid);
  if (card != fake_cuda::kMostCards) look(*state, card);
}

void AddUsersOfCuda(const OpaqueDevice& device, std::vector<InfoV1>& processes) {
  LookAtCuda(device, [&](fake_cuda::State& state, unsigned card) {
    for (unsigned slot = 0; slot < state.shared().high; ++slot) {
      const fake_cuda::Process& process = state.shared().processes[slot];
      if (process.contexts[card] == 0 || !state.IsAlive(slot)) continue;
      processes.push_back({static_cast<uint32_t>(process.pid),
                           process.resident[card] + state.objects().SumOf(card, slot)});
    }
  });
}

// The processes of the variable, and those with a context on the device.
std::vector<InfoV1> UsersOf(const OpaqueDevice& device) {
  std::vector<InfoV1> processes = Processes();
  AddUsersOfCuda(device, processes);
  return processes;
}

std::optional<uint64_t> BytesOf(uint32_t pid) {
  const std::vector<InfoV1> processes = Processes();
  const auto found = std::ranges::find(processes, pid, &InfoV1::pid);
  return found == processes.end() ? std::nullopt : std::optional(found->bytes);
}

void Fill(const InfoV1& process, uint32_t& out) {
  out = process.pid;
}
void Fill(const InfoV1& process, InfoV1& out) {
  out = process;
}
void Fill(const InfoV1& process, InfoV2& out) {
  out = {process.pid, process.bytes, kNoInstance, kNoInstance};
}
void Fill(const InfoV1& process, Detail& out) {
  out = {process.pid, process.bytes, kNoInstance, kNoInstance, 0};
}
void Fill(const InfoV1& process, Sample& out) {
  out = {process.pid, kSampledAt, 42, 7, 0, 0};
}
void Fill(const InfoV1& process, Use& out) {
  out = {kSampledAt, process.pid, 42, {}};
}

template <class Info>
Return Tell(const std::vector<InfoV1>& processes, unsigned* count, Info* infos) {
  const unsigned room = *count;
  *count = static_cast<unsigned>(processes.size());
  if (room < *count) return Return::kInsufficientSize;
  for (size_t i = 0; i < processes.size(); ++i) Fill(processes[i], infos[i]);
  return Return::kSuccess;
}

template <class Info>
Return List(const char* function, DeviceHandle device, bool compute, unsigned* count, Info* infos) {
  return ServeDevice(function, device, [&](const GpuFaults&) {
    if (count == nullptr) return Return::kInvalidArgument;
    return Tell(compute ? UsersOf(*device) : std::vector<InfoV1>(), count, infos);
  });
}

}  // namespace

// Counts a dead process's memory as free at once.
uint64_t UsedByCuda(const OpaqueDevice& device) {
  uint64_t used = 0;
  LookAtCuda(device, [&](fake_cuda::State& state, unsigned card) {
    used = state.objects().Sum(card);
    for (unsigned slot = 0; slot < state.shared().high; ++slot) {
      if (state.IsAlive(slot)) used += state.shared().processes[slot].resident[card];
    }
  });
  return used;
}

}  // namespace tessera::nvml

using namespace tessera::nvml;  // NOLINT(google-build-using-namespace)

extern "C" {

#pragma GCC visibility push(default)
// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses): these are NVML's names

#define LIST(name, Info, compute)                                  \
  Return name(DeviceHandle device, unsigned* count, Info* infos) { \
    return List(__func__, device, compute, count, infos);          \
  }
LIST(nvmlDeviceGetComputeRunningProcesses, InfoV1, true)
LIST(nvmlDeviceGetComputeRunningProcesses_v2, InfoV2, true)
LIST(nvmlDeviceGetComputeRunningProcesses_v3, InfoV2, true)
LIST(nvmlDeviceGetGraphicsRunningProcesses, InfoV1, false)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, InfoV2, false)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, InfoV2, false)
LIST(nvmlDeviceGetMPSComputeRunningProcesses, InfoV1, false)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, InfoV2, false)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, InfoV2, false)
#undef LIST

Return nvmlDeviceGetRunningProcessDetailList(DeviceHandle device, DetailList* list) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    if (list->version != kDetailVersion) return kVersionMismatch;
    return Tell(list->mode == 0 ? UsersOf(*device) : std::vector<InfoV1>(), &list->count,
                list->details);
  });
}

Return nvmlDeviceGetProcessUtilization(DeviceHandle device, Sample* samples, unsigned* count,
                                       uint64_t seen) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    const auto processes = seen < kSampledAt ? Processes() : std::vector<InfoV1>();
    return processes.empty() ? Return::kNotFound : Tell(processes, count, samples);
  });
}

Return nvmlDeviceGetProcessesUtilizationInfo(DeviceHandle device, UseList* list) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    if (list->version != kUseVersion) return kVersionMismatch;
    const auto processes = list->seen < kSampledAt ? Processes() : std::vector<InfoV1>();
    return processes.empty() ? Return::kNotFound : Tell(processes, &list->count, list->uses);
  });
}

Return nvmlDeviceGetAccountingPids(DeviceHandle device, unsigned* count, unsigned* pids) {
  return ServeDevice(__func__, device,
                     [&](const GpuFaults&) { return Tell(Processes(), count, pids); });
}

Return nvmlDeviceGetAccountingStats(DeviceHandle device, unsigned pid, AccountV1* account) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    const std::optional<uint64_t> bytes = BytesOf(pid);
    if (bytes) account->bytes = *bytes;
    return bytes ? Return::kSuccess : Return::kNotFound;
  });
}

Return nvmlDeviceGetAccountingStats_v2(DeviceHandle device, AccountV2* account) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    const std::optional<uint64_t> bytes = BytesOf(account->pid);
    if (bytes) account->bytes = *bytes;
    return bytes ? Return::kSuccess : Return::kNotFound;
  });
}

// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)
#pragma GCC visibility pop

}  // extern "C"
