// SPDX-License-Identifier: Apache-2.0
#include "limiter/books/process.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "limiter/books/locks.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace tessera::limiter {
namespace {

constinit std::atomic<Process*> the_process{nullptr};

void InForkedChild() {
  ForgetLocksOfParent();
  // Where the kernel did not.
  Process* const process = the_process.load(std::memory_order_relaxed);
  if (process->standing.load(std::memory_order_relaxed) != Standing::kUnknown) {
    memset(static_cast<void*>(process), 0, sizeof(Process));
  }
}

}  // namespace

Process* TheProcess() {
  Process* process = the_process.load(std::memory_order_acquire);
  if (process != nullptr) return process;
  void* const memory =
      mmap(nullptr, sizeof(Process), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, sizeof(Process), MADV_WIPEONFORK);
  if (the_process.compare_exchange_strong(process, static_cast<Process*>(memory),
                                          std::memory_order_acq_rel)) {
    pthread_atfork(nullptr, nullptr, InForkedChild);
    return static_cast<Process*>(memory);
  }
  munmap(memory, sizeof(Process));
  return process;
}

}  // namespace tessera::limiter
