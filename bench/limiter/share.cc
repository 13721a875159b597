// SPDX-License-Identifier: Apache-2.0
// What share of a simulated GPU's time containers get, beside what they are to get and what they
// get without a limiter: for short and long kernels, launched by one process or several that wait
// for them now and then, in one container or two. The simulation tells how long the GPU was busy
// with whose kernels, in windows of a second.
//
// usage: bench_limiter_share [OPTION]... processes N...
//        bench_limiter_share [OPTION]... containers
// --seconds N: windows; --warm N: seconds before the first; --jitter PERCENT: so much longer kernels
// may take; --slice US: processes take turns of that length, else who comes first is served first;
// --agent 1: as on a node with the agent, which tells containers how long others had the GPU.
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/bind/grant_times.h"
#include "cuda/cuda_node.h"

namespace {

using tessera::fake_cuda::CudaNode;
using tessera::fake_cuda::Library;
using tessera::fake_cuda::Now;
using tessera::fake_cuda::State;

constexpr char kUuid[] = "GPU-f132b5ef-756d-4db9-a729-3c7f8b96f3ce";
constexpr char kModule[] = ".visible .entry spin(.param .u64 ns) {}";
constexpr uint64_t kKernelsUs[] = {20, 200, 2'000, 50'000};

struct Settings {
  int seconds = 3;
  int warm = 1;  // seconds before the first window
  std::string driver = "context-mib=0";
  bool agent = false;
};

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

struct Container {
  int percent;  // 0: without the limiter
  int processes = 1;
};

struct Share {
  double mean = 0;   // percent of the GPU's time
  double error = 0;  // mean distance of a window from what was to be
};

// What the agent does besides, for containers whose regions are named by their numbers.
class Agent {
 public:
  Agent(std::string directory, size_t containers)
      : directory_(std::move(directory)), containers_(containers), thread_([this] { Run(); }) {}
  ~Agent() { ends_ = true; }

 private:
  void Run() {
    tessera::agent::GrantTimes times;
    while (!ends_) {
      for (size_t i = 0; i < containers_; ++i) {
        times.Add(std::to_string(i), directory_, std::to_string(i) + ".cache", {kUuid});
      }
      std::this_thread::sleep_for(std::min(times.Tell(Now()), tessera::agent::GrantTimes::kShared));
    }
  }

  const std::string directory_;
  const size_t containers_;
  std::atomic<bool> ends_ = false;
  std::jthread thread_;
};

std::vector<Share> Measure(uint64_t ns, const std::vector<Container>& containers,
                           const Settings& settings) {
  CudaNode node;
  node.Set("TESSERA_FAKE_CUDA_OPTIONS", settings.driver);
  node.Set("GPU_CORE_UTILIZATION_POLICY", "force");
  std::vector<std::vector<pid_t>> workers;
  for (const Container& container : containers) {
    const std::string name = std::to_string(workers.size());
    node.Set("CUDA_DEVICE_MEMORY_SHARED_CACHE", node.directory() + "/" + name + ".cache");
    node.Set("CUDA_DEVICE_SM_LIMIT", std::to_string(container.percent));
    workers.emplace_back();
    for (int i = 0; i < container.processes; ++i) {
      workers.back().push_back(
          node.Start([&](const Library& cuda) { Work(cuda, ns, container.percent != 0); }));
    }
  }
  std::optional<Agent> agent;
  if (settings.agent) agent.emplace(node.directory(), containers.size());
  std::this_thread::sleep_for(std::chrono::seconds(settings.warm));
  const auto state = State::Open(node.directory(), 0);
  const unsigned card = state->Find(kUuid);
  const auto busy = [&](size_t container) {
    uint64_t sum = 0;
    for (const pid_t worker : workers[container]) sum += state->Busy(worker, card);
    return sum;
  };
  std::vector<Share> shares(containers.size());
  for (int window = 0; window < settings.seconds; ++window) {
    const uint64_t from = Now();
    std::vector<uint64_t> before;
    for (size_t i = 0; i < containers.size(); ++i) before.push_back(busy(i));
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto passed = static_cast<double>(Now() - from);
    for (size_t i = 0; i < containers.size(); ++i) {
      const double share = static_cast<double>(busy(i) - before[i]) / passed * 100;
      shares[i].mean += share / settings.seconds;
      shares[i].error += std::abs(share - containers[i].percent) / settings.seconds;
    }
  }
  for (const std::vector<pid_t>& all : workers) {
    for (const pid_t worker : all) kill(worker, SIGKILL);
    for (const pid_t worker : all) waitpid(worker, nullptr, 0);
  }
  return shares;
}

void BenchProcesses(int processes, const Settings& settings) {
  std::printf("%% of the GPU's time, %d process(es); in brackets the mean error of a second\n",
              processes);
  std::printf("%10s %8s", "kernel", "none");
  constexpr int kLimits[] = {10, 30, 50, 70, 90};
  for (const int percent : kLimits) std::printf("      %3d     ", percent);
  std::printf("\n");
  Settings unlimited = settings;
  unlimited.seconds = 1;
  for (const uint64_t us : kKernelsUs) {
    // With many processes of short kernels the machine has not the processors for them.
    if (processes > 2 && us < 200) continue;
    std::printf("%7lu us %8.1f", static_cast<unsigned long>(us),
                Measure(us * 1000, {{0, processes}}, unlimited)[0].mean);
    for (const int percent : kLimits) {
      const Share share = Measure(us * 1000, {{percent, processes}}, settings)[0];
      std::printf("  %5.1f (%4.1f)", share.mean, share.error);
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}

void BenchContainers(const Settings& settings) {
  std::printf("%% of the GPU's time, two containers; in brackets the mean error of a second\n");
  std::printf("%10s", "kernel");
  constexpr int kLimits[][2] = {{0, 0}, {30, 60}, {10, 80}, {30, 70}, {10, 90}};
  for (const auto& [a, b] : kLimits) std::printf("         %3d : %-3d        ", a, b);
  std::printf("\n");
  for (const uint64_t us : kKernelsUs) {
    std::printf("%7lu us", static_cast<unsigned long>(us));
    for (const auto& [a, b] : kLimits) {
      const auto shares = Measure(us * 1000, {{a}, {b}}, settings);
      std::printf("  %5.1f (%4.1f) %5.1f (%4.1f)", shares[0].mean, shares[0].error, shares[1].mean,
                  shares[1].error);
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** words) {
  Settings settings;
  int at = 1;
  for (; at + 1 < count && words[at][0] == '-'; at += 2) {
    const std::string option = words[at];
    const std::string value = words[at + 1];
    if (option == "--seconds") settings.seconds = std::max(atoi(value.c_str()), 1);
    if (option == "--warm") settings.warm = std::max(atoi(value.c_str()), 1);
    if (option == "--jitter") settings.driver += ",jitter=" + value;
    if (option == "--agent") settings.agent = value == "1";
    if (option == "--slice") settings.driver += ",slice-us=" + value;
  }
  if (at < count && std::strcmp(words[at], "containers") == 0) {
    BenchContainers(settings);
    return 0;
  }
  for (++at; at < count; ++at) BenchProcesses(atoi(words[at]), settings);
  return 0;
}
