// SPDX-License-Identifier: Apache-2.0
#include "test/limiter/kills/storm.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "limiter/driver/cuda.h"
#include "test/limiter/kills/operations.h"
#include "test/limiter/kills/survivor.h"

namespace tessera::limiter {
namespace {

constexpr int kWorkers = 8;
constexpr size_t kHeld = 16;  // blocks of one worker at most

// One random call of a worker.
void Work(std::mt19937* random, std::array<CUdeviceptr, kHeld>* blocks) {
  CUdeviceptr* const block = &(*blocks)[(*random)() % kHeld];
  const auto what = (*random)() % 16;
  if (what == 0) return Launch(1'000);
  if (*block != 0) {
    (void)!cuMemFree_v2(*block);
    *block = 0;
    return;
  }
  const size_t bytes = what < 8 ? 1 + (*random)() % kMiB : kMiB + (*random)() % (6 * kMiB);
  if (cuMemAlloc_v2(block, bytes) != CUDA_SUCCESS) *block = 0;
}

class Worker {
 public:
  Worker(unsigned seed, const std::atomic<bool>* rest) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) exit(1);
    fflush(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      Live(ends[1], seed, rest);
    }
    close(ends[1]);
    end_ = ends[0];
    Hear();
  }
  ~Worker() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(end_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Waits until the worker rests.
  void Hear() const {
    char byte = 0;
    if (read(end_, &byte, 1) == 1) return;
    fprintf(stderr, "a process ended by itself\n");
    exit(1);
  }
  void GoOn() const { (void)!write(end_, "", 1); }

 private:
  [[noreturn]] static void Live(int end, unsigned seed, const std::atomic<bool>* rest) {
    PrepareLaunches();
    (void)!nice(10);  // the killer must not wait for a time slice
    std::mt19937 random(seed);
    std::array<CUdeviceptr, kHeld> blocks{};
    for (char byte = 0;;) {
      if (write(end, "", 1) != 1 || read(end, &byte, 1) != 1) _exit(0);
      while (!*rest) Work(&random, &blocks);
    }
  }

  pid_t pid_ = 0;
  int end_ = -1;
};

bool IsExact(const Found& found) {
  return found.lost == 0 && found.result == CUDA_ERROR_OUT_OF_MEMORY && found.waits == 0 &&
         found.lent == 0 && found.flights == 0 && found.strangers == 0 &&
         found.total == found.shares && found.total == found.resident;
}

}  // namespace

int RunStorm(int rounds) {
  const Survivor survivor;
  // The survivor starts first. Memory that it took during a worker's module load would be counted
  // for the module.
  survivor.Ask(Calls::kOne, 0);
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const rest = new (page) std::atomic<bool>(true);
  std::mt19937 random(std::random_device{}());
  std::array<std::unique_ptr<Worker>, kWorkers> workers;
  for (auto& worker : workers)
    worker = std::make_unique<Worker>(static_cast<unsigned>(random()), rest);
  int wrong = 0;
  for (int round = 0; round < rounds && wrong < 10; ++round) {
    *rest = false;
    for (const auto& worker : workers) worker->GoOn();
    usleep(static_cast<useconds_t>(random() % 500));
    auto& victim = workers[random() % kWorkers];
    victim.reset();
    *rest = true;
    for (const auto& worker : workers) {
      if (worker != nullptr) worker->Hear();
    }
    const Found found = survivor.Ask(round % 2 == 0 ? Calls::kOne : Calls::kTwo, kLimit);
    if (!IsExact(found)) {
      printf("round %d: %s\n", round, Text(found).c_str());
      ++wrong;
    }
    victim = std::make_unique<Worker>(static_cast<unsigned>(random()), rest);
  }
  return wrong;
}

}  // namespace tessera::limiter
