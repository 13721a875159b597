// SPDX-License-Identifier: Apache-2.0
// What share of a simulated GPU's time a container gets, beside what it is to get and what it gets
// without a limiter: for short and long kernels, launched by one process or several that wait for
// them now and then. The simulation tells how long the GPU was busy, in windows of a second.
//
// usage: bench_limiter_share [PROCESSES [SECONDS]]
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "cuda/cuda_node.h"

namespace {

using tessera::fake_cuda::CudaNode;
using tessera::fake_cuda::Library;
using tessera::fake_cuda::Now;
using tessera::fake_cuda::State;

constexpr char kUuid[] = "GPU-f132b5ef-756d-4db9-a729-3c7f8b96f3ce";
constexpr char kModule[] = ".visible .entry spin(.param .u64 ns) {}";

void Expect(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  _exit(1);
}

// Launches until it is killed.
void Work(const Library& cuda, uint64_t ns, bool is_limited) {
  Expect(CALL(cuInit)(0), "cuInit");
  CUcontext context = nullptr;
  Expect(CALL(cuDevicePrimaryCtxRetain)(&context, 0), "cuDevicePrimaryCtxRetain");
  Expect(CALL(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
  CUmodule module = nullptr;
  Expect(CALL(cuModuleLoadData)(&module, kModule), "cuModuleLoadData");
  CUfunction function = nullptr;
  Expect(cuda.As<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction")(
             &function, module, "spin"),
         "cuModuleGetFunction");
  auto* launch = CALL(cuLaunchKernel);
  if (is_limited) launch = Library(TESSERA_LIBVGPU).As<decltype(cuLaunchKernel)>("cuLaunchKernel");
  auto* const wait = CALL(cuCtxSynchronize);
  void* parameters[] = {&ns};
  const int burst = ns < 1'000'000 ? 16 : 2;
  for (;;) {
    for (int i = 0; i < burst; ++i) {
      Expect(launch(function, 132, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr), "launch");
    }
    Expect(wait(), "cuCtxSynchronize");
  }
}

struct Share {
  double mean;
  double error;  // mean distance of a window from what was to be
};

// percent 0: without the limiter.
Share Measure(uint64_t ns, int percent, int processes, int seconds) {
  CudaNode node;
  node.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0");
  node.Set("CUDA_DEVICE_MEMORY_SHARED_CACHE", node.directory() + "/x.cache");
  node.Set("CUDA_DEVICE_SM_LIMIT", std::to_string(percent));
  node.Set("GPU_CORE_UTILIZATION_POLICY", "force");
  std::vector<pid_t> workers;
  for (int i = 0; i < processes; ++i) {
    workers.push_back(node.Start([&](const Library& cuda) { Work(cuda, ns, percent != 0); }));
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const auto state = State::Open(node.directory(), 0);
  const unsigned card = state->Find(kUuid);
  double sum = 0, error = 0;
  for (int i = 0; i < seconds; ++i) {
    const uint64_t from = Now(), busy = state->Busy(0, card);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto passed = static_cast<double>(Now() - from);
    const double share = static_cast<double>(state->Busy(0, card) - busy) / passed * 100;
    sum += share;
    error += std::abs(share - percent);
  }
  for (const pid_t worker : workers) kill(worker, SIGKILL);
  for (const pid_t worker : workers) waitpid(worker, nullptr, 0);
  return {sum / seconds, error / seconds};
}

}  // namespace

int main(int count, char** words) {
  const int processes = count > 1 ? atoi(words[1]) : 1;
  const int seconds = count > 2 ? atoi(words[2]) : 3;
  std::printf("%% of the GPU's time, %d process(es); in brackets the mean error of a second\n",
              processes);
  std::printf("%10s %8s", "kernel", "none");
  for (const int percent : {10, 30, 50, 70}) std::printf("      %3d     ", percent);
  std::printf("\n");
  for (const uint64_t us : {20u, 200u, 2'000u, 50'000u}) {
    std::printf("%7lu us %8.1f", static_cast<unsigned long>(us),
                Measure(us * 1000, 0, processes, 1).mean);
    for (const int percent : {10, 30, 50, 70}) {
      const Share share = Measure(us * 1000, percent, processes, seconds);
      std::printf("  %5.1f (%4.1f)", share.mean, share.error);
      std::fflush(stdout);
    }
    std::printf("\n");
  }
  return 0;
}
