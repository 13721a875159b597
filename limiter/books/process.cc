// SPDX-License-Identifier: Apache-2.0
#include "limiter/books/process.h"

#include "limiter/books/locks.h"
#include "limiter/books/process_memory.h"

// What pthread_atfork is made of: that one has moved between libraries.
extern "C" int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                 void* object);

namespace tessera::limiter {
namespace {

constinit ProcessMemory<Process> the_process;
constinit std::atomic<bool> forks_seen{false};

void InForkedChild() {
  ForgetLocksOfParent();
  the_process.ForgetParents();
}

}  // namespace

Process* TheProcess() {
  Process* const process = the_process.Get();
  if (!forks_seen.load(std::memory_order_relaxed) && !forks_seen.exchange(true)) {
    __register_atfork(nullptr, nullptr, InForkedChild, nullptr);
  }
  return process;
}

}  // namespace tessera::limiter
