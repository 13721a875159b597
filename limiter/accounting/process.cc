// SPDX-License-Identifier: Apache-2.0
#include "limiter/accounting/process.h"

#include "limiter/accounting/locks.h"
#include "limiter/accounting/process_memory.h"

// The function behind pthread_atfork, which has moved between libraries.
extern "C" int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                 void* object);

namespace tessera::limiter {
namespace {

constinit ProcessMemory<Process> the_process;

void InForkedChild() {
  ForgetLocksOfParent();
  forks_behind.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void WatchForks() {
  static constinit std::atomic<bool> watched{false};
  if (!watched.exchange(true)) __register_atfork(nullptr, nullptr, InForkedChild, nullptr);
}

Process* TheProcess() {
  return the_process.Get();
}

Process* JoinedProcess() {
  return the_process.IfAny();
}

}  // namespace tessera::limiter
