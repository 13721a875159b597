// SPDX-License-Identifier: Apache-2.0
#include "shares/cell.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "cuda/cuda_node.h"
#include "limiter/libvgpu.h"
#include "shares/agent.h"

namespace tessera::limiter {
namespace {

using fake_cuda::CudaNode;
using fake_cuda::Library;
using fake_cuda::Now;
using fake_cuda::State;

constexpr char kUuid[] = "GPU-f132b5ef-756d-4db9-a729-3c7f8b96f3ce";
constexpr char kModule[] = ".visible .entry spin(.param .u64 ns) {}";

void Expect(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  _exit(1);
}

[[noreturn]] void Idle() {
  for (;;) pause();
}

// The life of one process: launches until it is killed. If idle, one burst only.
void Work(const Library& cuda, uint64_t ns, unsigned blocks, bool is_limited, bool is_idle) {
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
  if (is_limited) launch = Library(Libvgpu()).As<decltype(cuLaunchKernel)>("cuLaunchKernel");
  auto* const wait = CALL(cuCtxSynchronize);
  void* parameters[] = {&ns};
  const int burst = ns < 1'000'000 ? 16 : 2;
  for (;;) {
    for (int i = 0; i < burst; ++i) {
      Expect(launch(function, blocks, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr), "launch");
    }
    Expect(wait(), "cuCtxSynchronize");
    if (is_idle) Idle();
  }
}

}  // namespace

std::vector<Windows> MeasureCell(uint64_t ns, const std::vector<CellContainer>& containers,
                                 const CellSettings& settings) {
  CudaNode node;
  const auto blocks = static_cast<unsigned>(settings.multiprocessors);
  node.Set("TESSERA_FAKE_CUDA_OPTIONS", settings.driver + ",sms=" + std::to_string(blocks));
  node.Set("GPU_CORE_UTILIZATION_POLICY", "force");
  std::vector<std::vector<pid_t>> workers;
  for (const CellContainer& container : containers) {
    const std::string name = std::to_string(workers.size());
    node.Set("CUDA_DEVICE_MEMORY_SHARED_CACHE", node.directory() + "/" + name + ".cache");
    node.Set("CUDA_DEVICE_SM_LIMIT", std::to_string(container.percent));
    workers.emplace_back();
    for (int i = 0; i < container.processes + container.idle; ++i) {
      const bool is_idle = i >= container.processes;
      workers.back().push_back(node.Start(
          [&](const Library& cuda) { Work(cuda, ns, blocks, container.percent != 0, is_idle); }));
    }
  }
  std::optional<Agent> agent;
  if (settings.agent) agent.emplace(node.directory(), kUuid, containers.size());
  std::this_thread::sleep_for(std::chrono::seconds(settings.warm));
  const auto state = State::Open(node.directory(), 0);
  const unsigned card = state->Find(kUuid);
  const auto busy = [&](size_t container) {
    uint64_t sum = 0;
    for (const pid_t worker : workers[container]) sum += state->Busy(worker, card);
    return sum;
  };
  std::vector<Windows> shares(containers.size());
  for (int window = 0; window < settings.seconds; ++window) {
    const uint64_t from = Now();
    std::vector<uint64_t> before;
    for (size_t i = 0; i < containers.size(); ++i) before.push_back(busy(i));
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto passed = static_cast<double>(Now() - from);
    for (size_t i = 0; i < containers.size(); ++i) {
      shares[i].push_back(static_cast<double>(busy(i) - before[i]) / passed * 100);
    }
  }
  for (const std::vector<pid_t>& all : workers) {
    for (const pid_t worker : all) kill(worker, SIGKILL);
    for (const pid_t worker : all) waitpid(worker, nullptr, 0);
  }
  return shares;
}

}  // namespace tessera::limiter
