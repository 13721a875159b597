// SPDX-License-Identifier: Apache-2.0
// Lists the processes on the first device by every function of NVML that does, one line each. A
// process is named by its name, or by its id if this namespace has none of that id.
//
// Usage: `limit_processes [edges | account | UUID]`.
//
// `edges` prints the answers to calls that are not quite right. `account` prints the accounting of
// processes that ran. UUID: the processes on that device.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "limiter/driver/nvml.h"

namespace {

constexpr unsigned kRoom = 16;

template <typename F>
F* Find(const char* name) {
  static void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  void* found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return reinterpret_cast<F*>(found);
}
#define CALL(name) Find<decltype(name)>(#name)

std::string NameOf(unsigned pid) {
  char name[64] = {};
  FILE* file = fopen(("/proc/" + std::to_string(pid) + "/comm").c_str(), "re");
  if (file == nullptr) return std::to_string(pid);
  if (fscanf(file, "%63s", name) != 1) name[0] = '\0';
  fclose(file);
  return name;
}

std::string Instance(unsigned id) {
  return id == ~0u ? "" : "/" + std::to_string(id);
}
std::string Text(const nvmlProcessInfo_v1_t& info) {
  return NameOf(info.pid) + "=" + std::to_string(info.usedGpuMemory);
}
template <typename Info>
std::string Text(const Info& info) {
  return NameOf(info.pid) + "=" + std::to_string(info.usedGpuMemory) +
         Instance(info.gpuInstanceId) + Instance(info.computeInstanceId);
}
std::string Text(const nvmlProcessUtilizationSample_t& sample) {
  return NameOf(sample.pid) + "=" + std::to_string(sample.smUtil) + "%";
}
std::string Text(const nvmlProcessUtilizationInfo_v1_t& info) {
  return NameOf(info.pid) + "=" + std::to_string(info.smUtil) + "%";
}

template <typename Info>
void Print(const char* what, nvmlReturn_t result, unsigned count, const Info* infos) {
  printf("%s: %d", what, result);
  for (unsigned i = 0; result == NVML_SUCCESS && i < count; ++i) {
    printf(" %s", Text(infos[i]).c_str());
  }
  printf("\n");
}

template <typename Info>
void List(nvmlReturn_t (*list)(nvmlDevice_t, unsigned*, Info*), const char* what,
          nvmlDevice_t device) {
  Info infos[kRoom] = {};
  unsigned count = kRoom;
  const nvmlReturn_t result = list(device, &count, infos);
  Print(what, result, count, infos);
}
#define LIST(name) List(CALL(nvmlDeviceGet##name), #name, device)

void ListAll(nvmlDevice_t device) {
  LIST(ComputeRunningProcesses);
  LIST(ComputeRunningProcesses_v2);
  LIST(ComputeRunningProcesses_v3);
  LIST(GraphicsRunningProcesses);
  LIST(GraphicsRunningProcesses_v2);
  LIST(GraphicsRunningProcesses_v3);
  LIST(MPSComputeRunningProcesses);
  LIST(MPSComputeRunningProcesses_v2);
  LIST(MPSComputeRunningProcesses_v3);
  for (unsigned mode = 0; mode < 3; ++mode) {
    nvmlProcessDetail_v1_t details[kRoom] = {};
    nvmlProcessDetailList_v1_t list = {0x01000018, mode, kRoom, details};
    const nvmlReturn_t result = CALL(nvmlDeviceGetRunningProcessDetailList)(device, &list);
    Print(("details " + std::to_string(mode)).c_str(), result, list.numProcArrayEntries, details);
  }
  nvmlProcessUtilizationSample_t samples[kRoom] = {};
  unsigned count = kRoom;
  const nvmlReturn_t result = CALL(nvmlDeviceGetProcessUtilization)(device, samples, &count, 0);
  Print("utilization", result, count, samples);
  nvmlProcessUtilizationInfo_v1_t uses[kRoom] = {};
  nvmlProcessesUtilizationInfo_v1_t info = {0x01000018, kRoom, 0, uses};
  const nvmlReturn_t all = CALL(nvmlDeviceGetProcessesUtilizationInfo)(device, &info);
  Print("all utilization", all, info.processSamplesCount, uses);
}

// The memory in bytes of one process's accounting, whose place differs between the versions.
template <typename... Words>
unsigned long long Bytes(unsigned pid, nvmlReturn_t (*tell)(nvmlDevice_t, Words...),
                         nvmlDevice_t device) {
  unsigned long long account[16] = {};
  if constexpr (sizeof...(Words) == 2) {
    return tell(device, pid, account) == NVML_SUCCESS ? account[1] : 0;
  } else {
    account[0] = pid;
    return tell(device, account) == NVML_SUCCESS ? account[2] : 0;
  }
}

void PrintAccounts(nvmlDevice_t device) {
  unsigned pids[kRoom] = {};
  unsigned count = kRoom;
  const nvmlReturn_t result = CALL(nvmlDeviceGetAccountingPids)(device, &count, pids);
  printf("accounts: %d\n", result);
  for (unsigned i = 0; result == NVML_SUCCESS && i < count; ++i) {
    printf("%u: %llu, %llu\n", pids[i], Bytes(pids[i], CALL(nvmlDeviceGetAccountingStats), device),
           Bytes(pids[i], CALL(nvmlDeviceGetAccountingStats_v2), device));
  }
  unsigned long long account[16] = {};
  printf("of any: %d, %d\n", CALL(nvmlDeviceGetAccountingStats)(device, 1, account),
         CALL(nvmlDeviceGetAccountingStats_v2)(device, account));
}

void TryEdges(nvmlDevice_t device) {
  const auto compute = CALL(nvmlDeviceGetComputeRunningProcesses_v3);
  const auto use = CALL(nvmlDeviceGetProcessUtilization);
  unsigned count = 0;
  nvmlReturn_t result = compute(device, &count, nullptr);
  printf("no room: %d, %u needed\n", result, count);
  count = kRoom;
  result = compute(device, &count, nullptr);
  printf("nowhere to write: %d\n", result);
  result = compute(device, nullptr, nullptr);
  printf("no count: %d\n", result);
  nvmlProcessDetailList_v1_t list = {0x02000018, 0, 0, nullptr};
  result = CALL(nvmlDeviceGetRunningProcessDetailList)(device, &list);
  printf("a newer list: %d\n", result);
  count = 0;
  result = use(device, nullptr, &count, 0);
  printf("no room for samples: %d, %u needed\n", result, count);
  nvmlProcessUtilizationSample_t samples[kRoom] = {};
  count = kRoom;
  result = use(device, samples, &count, ~0ULL);
  printf("samples of the future: %d, %u\n", result, count);
}

}  // namespace

int main(int count, char** words) {
  if (Find<nvmlReturn_t()>("nvmlInit_v2")() != NVML_SUCCESS) return 1;
  nvmlDevice_t device = nullptr;
  const std::string word = count > 1 ? words[1] : "";
  const bool is_first = word.empty() || word == "edges" || word == "account";
  using ByUuid = nvmlReturn_t(const char*, nvmlDevice_t*);
  const nvmlReturn_t found = is_first
                                 ? CALL(nvmlDeviceGetHandleByIndex_v2)(0, &device)
                                 : Find<ByUuid>("nvmlDeviceGetHandleByUUID")(word.c_str(), &device);
  if (found != NVML_SUCCESS) return 1;
  if (word == "account") {
    PrintAccounts(device);
  } else if (word == "edges") {
    TryEdges(device);
  } else {
    ListAll(device);
  }
  Find<nvmlReturn_t()>("nvmlShutdown")();
  unsigned none = 0;
  printf("after the end: %d\n",
         CALL(nvmlDeviceGetComputeRunningProcesses_v3)(device, &none, nullptr));
  return 0;
}
