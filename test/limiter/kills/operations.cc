// SPDX-License-Identifier: Apache-2.0
#include "test/limiter/kills/operations.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "limiter/contract.h"
#include "limiter/driver/cuda.h"
#include "limiter/driver/nvml.h"
#include "test/limiter/kills/survivor.h"

extern "C" CUresult cuMemAddressReserve(CUdeviceptr*, size_t, size_t, CUdeviceptr,
                                        unsigned long long);
extern "C" CUresult cuCtxSynchronize();
extern "C" CUresult cuStreamSynchronize(CUstream);

namespace tessera::limiter {
namespace {

constexpr uint64_t kLarge = 4 * kMiB;

void Check(int result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", what, result);
  exit(1);
}

CUdeviceptr Allocate(size_t bytes) {
  CUdeviceptr address = 0;
  Check(cuMemAlloc_v2(&address, bytes), "cuMemAlloc");
  return address;
}

void Join() {
  StartCuda();
  Allocate(kLarge);
}

void Large() {
  const CUdeviceptr address = Allocate(kLarge + 1);
  Check(cuMemFree_v2(address), "cuMemFree");
}

void Small() {
  const CUdeviceptr first = Allocate(1'000), second = Allocate(700'000);
  Check(cuMemFree_v2(first), "cuMemFree");
  Check(cuMemFree_v2(second), "cuMemFree");
}

void Virtual() {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  Check(cuMemAddressReserve(&address, kLarge, 0, 0, 0), "cuMemAddressReserve");
  Check(cuMemCreate(&handle, kLarge, &wanted, 0), "cuMemCreate");
  Check(cuMemMap(address, kLarge, 0, handle, 0), "cuMemMap");
  Check(cuMemRelease(handle), "cuMemRelease");
  Check(cuMemUnmap(address, kLarge), "cuMemUnmap");
}

void Pooled() {
  CUdeviceptr address = 0;
  CUmemoryPool pool = nullptr;
  Check(cuMemAllocAsync(&address, kLarge, nullptr), "cuMemAllocAsync");
  Check(cuMemFreeAsync(address, nullptr), "cuMemFreeAsync");
  Check(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  Check(cuDeviceGetDefaultMemPool(&pool, 0), "cuDeviceGetDefaultMemPool");
  Check(cuMemPoolTrimTo(pool, 0), "cuMemPoolTrimTo");
}

CUfunction kernel = nullptr;
// Grids: the limiter learns the cost of a kernel for each grid.
constexpr unsigned kTold = 9, kMeasured = 10;

template <typename T>
void WriteIntoRegion(const T& value, size_t at) {
  const int file = open(getenv("CUDA_DEVICE_MEMORY_SHARED_CACHE"), O_RDWR | O_CLOEXEC);
  if (pwrite(file, &value, sizeof value, static_cast<off_t>(at)) != sizeof value) exit(1);
  close(file);
}

// A stepped process is slow, and its end charged it for that time. The next process must not wait
// for this debt.
void ForgetDebt() {
  WriteIntoRegion(TimeAccounting{}, offsetof(Region, accounting.times));
}

void JoinAndPrepare() {
  PrepareLaunches();
  Allocate(kLarge);
}

// The limiter measures a kernel's first launch, and one in sixteen of a short kernel's. A longer
// kernel takes from the bucket at each launch, and waits for debt. Stepping makes every kernel
// long, so at full speed only kernels of each length reach the same instructions.
void Launches() {
  for (int i = 0; i < 20; ++i) Launch(1'000);
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  for (int i = 0; i < 3; ++i) Launch(150'000, kTold);
  for (int i = 0; i < 3; ++i) Launch(2'000'000, kMeasured);
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  Launch(2'000'000, kMeasured);
  Launch(1'000);
}

void Fork() {
  if (fork() == 0) _exit(0);
}

// Returns only in the child; the parent stays until it is killed.
void ForkAndStay() {
  signal(SIGCHLD, SIG_IGN);
  if (fork() == 0) return;
  for (;;) pause();
}

// A child of a process that uses CUDA may not use it: these calls only return an error.
void ForkInUse() {
  size_t free = 0, total = 0;
  CUdeviceptr address = 0;
  ForkAndStay();
  cuMemGetInfo_v2(&free, &total);
  cuMemAlloc_v2(&address, kLarge);
}

template <typename F>
F* Find(const char* name) {
  return reinterpret_cast<F*>(dlsym(dlopen("libnvidia-ml.so.1", RTLD_NOW), name));
}

// Joins the region without CUDA, so that a child may use CUDA.
void AskNvml() {
  nvmlDevice_t device = nullptr;
  nvmlMemory_t memory{};
  Check(Find<nvmlReturn_t()>("nvmlInit_v2")(), "nvmlInit");
  using ByIndex = nvmlReturn_t(unsigned, nvmlDevice_t*);
  Check(Find<ByIndex>("nvmlDeviceGetHandleByIndex_v2")(0, &device), "handle");
  using Info = nvmlReturn_t(nvmlDevice_t, nvmlMemory_t*);
  Check(Find<Info>("nvmlDeviceGetMemoryInfo")(device, &memory), "memory");
}
void ForkBeforeCuda() {
  ForkAndStay();
  Join();
}

void Exec() {
  execl("/proc/self/exe", "limit_kills", kExecuted, nullptr);
}

void Leave() {
  exit(0);
}

using enum Stepped::Way;
constexpr Operation kOperations[] = {
    {"join", [] {}, Join},
    {"large", Join, Large},
    {"small", Join, Small},
    {"virtual", Join, Virtual},
    {"pool", Join, Pooled},
    {"launch", JoinAndPrepare, Launches},
    {"fork", Join, Fork, kAll},
    {"child", Join, ForkInUse, kChildCalls, kLarge},
    {"first-child", AskNvml, ForkBeforeCuda, kChildCalls},
    {"exec", Join, Exec},
    {"leave", Join, Leave, kLibrary},
};

}  // namespace

void PrepareLaunches() {
  StartCuda();
  CUmodule module = nullptr;
  Check(cuModuleLoadData(&module, ".visible .entry spin(.param .u64 ns) {}"), "cuModuleLoadData");
  Check(cuModuleGetFunction(&kernel, module, "spin"), "cuModuleGetFunction");
  ForgetDebt();
}

void Launch(uint64_t ns, unsigned grid) {
  void* parameters[] = {&ns};
  Check(cuLaunchKernel(kernel, grid, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr), "launch");
}

std::span<const Operation> Operations() {
  return kOperations;
}

void ForgetTheDead() {
  constexpr uint32_t kSlots = 1;
  WriteIntoRegion(kSlots, offsetof(Region, hami.proc_num));
  WriteIntoRegion(kSlots, offsetof(Region, accounting.slots_used));
  WriteIntoRegion(uint64_t{0}, offsetof(Region, accounting.reaped_at));
}

void RunExecuted() {
  raise(SIGSTOP);
  Join();
  raise(SIGSTOP);
}

}  // namespace tessera::limiter
