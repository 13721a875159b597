// SPDX-License-Identifier: Apache-2.0
// A CUDA driver API program on the first device, for a real card or a simulated one. It runs its
// steps in order; each but `await` prints one line.
//
//   take PIECE    allocates PIECE bytes until an allocation fails, and keeps them:
//                 "took 7245660160 bytes, then 2"
//   view          prints the device's memory as CUDA and NVML report it:
//                 "sees 0 free of 7245660160, device 7245660160, NVML 7245660160 of 7245660160"
//   run NS MS     launches kernels of NS nanoseconds, two at a time, for MS milliseconds:
//                 "ran 900 kernels of 2000000 ns in 6001234567 ns"
//   await FILE    waits until FILE exists
//
// SIGTERM ends the program in `await`. A call that fails is printed, and ends the program with 1.
//
// usage: spin STEP...
#include <dlfcn.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "limiter/driver/cuda.h"
#include "limiter/driver/nvml.h"
#include "test/spin/kernel.h"

// NOLINTNEXTLINE(readability-identifier-naming): it is the driver's
extern "C" CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*);

namespace {

CUdevice device = 0;
CUfunction kernel = nullptr;

void Check(int result, const char* what) {
  if (result == 0) return;
  std::printf("%s: %d\n", what, result);
  std::exit(1);  // NOLINT(concurrency-mt-unsafe): one thread
}

void Start() {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  Check(cuInit(0), "cuInit");
  Check(cuDeviceGet(&device, 0), "cuDeviceGet");
  Check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  Check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  Check(cuModuleLoadData(&module, tessera::kSpinModule), "cuModuleLoadData");
  Check(cuModuleGetFunction(&kernel, module, "spin"), "cuModuleGetFunction");
}

void Take(size_t piece) {
  size_t all = 0;
  for (;; all += piece) {
    CUdeviceptr address = 0;
    const CUresult result = cuMemAlloc_v2(&address, piece);
    if (result == CUDA_SUCCESS) continue;
    std::printf("took %zu bytes, then %d\n", all, static_cast<int>(result));
    return;
  }
}

template <typename F>
F* OfNvml(const char* name) {
  static void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const found = library != nullptr ? dlsym(library, name) : nullptr;
  Check(found == nullptr ? 1 : 0, name);
  return reinterpret_cast<F*>(found);
}

void View() {
  size_t free = 0, total = 0, whole = 0;
  Check(cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  Check(cuDeviceTotalMem_v2(&whole, device), "cuDeviceTotalMem");
  nvmlDevice_t first = nullptr;
  nvmlMemory_t memory{};
  Check(OfNvml<nvmlReturn_t()>("nvmlInit_v2")(), "nvmlInit");
  Check(OfNvml<decltype(nvmlDeviceGetHandleByIndex_v2)>("nvmlDeviceGetHandleByIndex_v2")(0, &first),
        "nvmlDeviceGetHandleByIndex");
  Check(OfNvml<decltype(nvmlDeviceGetMemoryInfo)>("nvmlDeviceGetMemoryInfo")(first, &memory),
        "nvmlDeviceGetMemoryInfo");
  std::printf("sees %zu free of %zu, device %zu, NVML %llu of %llu\n", free, total, whole,
              memory.used, memory.total);
}

long long Now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

void Run(unsigned long long ns, long long ms) {
  void* parameters[] = {&ns};
  const long long begun = Now();
  long kernels = 0;
  while (Now() - begun < ms * 1'000'000) {
    for (int i = 0; i < 2; ++i, ++kernels) {
      Check(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr),
            "cuLaunchKernel");
    }
    Check(cuCtxSynchronize(), "cuCtxSynchronize");
  }
  std::printf("ran %ld kernels of %llu ns in %lld ns\n", kernels, ns, Now() - begun);
}

// False if SIGTERM came first.
bool Await(const char* file) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &end, nullptr);
  constexpr timespec kGlance{0, 1'000'000};
  while (access(file, F_OK) != 0) {
    if (sigtimedwait(&end, nullptr, &kGlance) == SIGTERM) return false;
  }
  return true;
}

}  // namespace

int main(int count, char** words) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  Start();
  for (int i = 1; i < count; ++i) {
    const char* const step = words[i];
    const auto next = [&] { return ++i < count ? words[i] : "0"; };
    if (std::strcmp(step, "take") == 0) {
      Take(std::strtoull(next(), nullptr, 10));
    } else if (std::strcmp(step, "view") == 0) {
      View();
    } else if (std::strcmp(step, "run") == 0) {
      const unsigned long long ns = std::strtoull(next(), nullptr, 10);
      Run(ns, std::strtoll(next(), nullptr, 10));
    } else if (std::strcmp(step, "await") != 0) {
      Check(1, step);
    } else if (!Await(next())) {
      break;
    }
  }
  return 0;
}
