// SPDX-License-Identifier: Apache-2.0
#include "cuda/engine.h"

#include <algorithm>
#include <ctime>
#include <mutex>

#include "cuda/driver.h"
#include "cuda/heap.h"

namespace tessera::fake_cuda {
namespace {

SpinLock g_launching;
uint64_t g_random = 0x9e37'79b9'7f4a'7c15;

// With the lock held, as what follows.
uint64_t Jittered(uint64_t ns, uint64_t percent) {
  if (percent == 0) return ns;
  g_random ^= g_random << 13;
  g_random ^= g_random >> 7;
  g_random ^= g_random << 17;
  return ns + ns * (g_random % (percent * 100 + 1)) / 10'000;
}

// Only this process writes it.
template <class T>
void Add(std::atomic<T>& number, T more) {
  number.store(number.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

void SleepUntil(uint64_t time) {
  constexpr uint64_t kLate = 80'000;  // so late the kernel may wake who sleeps
  for (uint64_t now = Now(); now < time; now = Now()) {
    if (time - now <= kLate) continue;
    const uint64_t until = time - kLate;
    const timespec wake{static_cast<time_t>(until / 1'000'000'000),
                        static_cast<long>(until % 1'000'000'000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr);
  }
}

}  // namespace

Mark Submit(unsigned card, Mark after, uint64_t ns) {
  Driver& driver = *TheDriver();
  Process& own = driver.state->own();
  std::atomic<uint64_t>& busy_until = driver.state->card(card).busy_until;
  const std::lock_guard lock(g_launching);
  Run& run = own.runs[own.kernels.load(std::memory_order_relaxed) % kQueue];
  uint64_t now = Now();
  if (run.start.load(std::memory_order_relaxed) > now) {
    SleepUntil(run.start);
    now = Now();
  }
  const uint64_t takes = Jittered(ns, driver.node.options.jitter_percent);
  uint64_t busy = busy_until.load(std::memory_order_relaxed);
  uint64_t start = 0;
  do {
    start = std::max({now, busy, after});
  } while (!busy_until.compare_exchange_weak(busy, start + takes));
  run.start.store(start, std::memory_order_relaxed);
  run.end.store(start + takes, std::memory_order_relaxed);
  run.card.store(card, std::memory_order_relaxed);
  Add(own.busy[card], takes);
  Add(own.kernels, uint64_t{1});
  return start + takes;
}

bool IsReached(unsigned /*card*/, Mark mark) {
  return mark <= Now();
}
void AwaitMark(unsigned /*card*/, Mark mark) {
  SleepUntil(mark);
}
uint64_t TimeOf(unsigned /*card*/, Mark mark) {
  return mark;
}

}  // namespace tessera::fake_cuda
