// SPDX-License-Identifier: Apache-2.0
#include "cuda/engine.h"

#include <algorithm>
#include <ctime>
#include <mutex>

#include "cuda/driver.h"
#include "cuda/heap.h"
#include "cuda/turns.h"

namespace tessera::fake_cuda {
namespace {

// Orders this process's launches, so each place in its queue (Process::runs) has one writer. Guards
// g_random and g_own_end.
SpinLock g_launching;
uint64_t g_random = 0x9e37'79b9'7f4a'7c15;

// With the lock held.
uint64_t Jittered(uint64_t ns, uint64_t percent) {
  if (percent == 0) return ns;
  g_random ^= g_random << 13;
  g_random ^= g_random >> 7;
  g_random ^= g_random << 17;
  return ns + ns * (g_random % (percent * 100 + 1)) / 10'000;
}

// By card: the end of this process's last kernel, if it is a client of MPS.
Mark g_own_end[kMostCards] = {};

// Only this process writes the number, with the lock held. So no atomic addition is needed.
template <class T>
void Add(std::atomic<T>& number, T more) {
  number.store(number.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

void SleepUntil(uint64_t time) {
  constexpr uint64_t kLate = 80'000;  // ns by which a sleeper may wake late; it spins for the rest
  for (uint64_t now = Now(); now < time; now = Now()) {
    if (time - now <= kLate) continue;
    const uint64_t until = time - kLate;
    const timespec wake{static_cast<time_t>(until / 1'000'000'000),
                        static_cast<long>(until % 1'000'000'000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr);
  }
}

}  // namespace

namespace {

// Kernels of other MPS clients run at the same time. So a kernel waits only for its own process's.
uint64_t StartBesideOthers(unsigned card, Mark after, uint64_t ns, uint64_t now) {
  const uint64_t start = std::max({now, g_own_end[card], after});
  g_own_end[card] = start + ns;
  return start;
}

// First come, first served: a kernel begins when all earlier ones of the card have ended. Processes
// race for the card's end of work, so it is advanced by compare and exchange.
Mark SubmitLast(Card& card, Process& own, Run& run, Mark after, uint64_t ns, uint64_t now,
                unsigned number) {
  uint64_t busy = card.busy_until.load(std::memory_order_relaxed);
  uint64_t start = 0;
  if (TheDriver()->node.mps_percent != 0) {
    start = StartBesideOthers(number, after, ns, now);
  } else {
    do {
      start = std::max({now, busy, after});
    } while (!card.busy_until.compare_exchange_weak(busy, start + ns));
  }
  run.start.store(start, std::memory_order_relaxed);
  run.end.store(start + ns, std::memory_order_relaxed);
  Add(own.busy[number], ns);
  return start + ns;
}

}  // namespace

bool TakesTurns(unsigned card) {
  return TheDriver()->state->card(card).turn_length.load(std::memory_order_relaxed) != 0;
}

Mark Submit(unsigned card, Mark after, uint64_t ns) {
  Driver& driver = *TheDriver();
  State& state = *driver.state;
  Process& own = state.own();
  const std::lock_guard lock(g_launching);
  Run& run = own.runs[own.kernels.load(std::memory_order_relaxed) % kQueue];
  const unsigned percent = driver.node.mps_percent;
  const uint64_t alone = Jittered(ns, driver.node.options.jitter_percent);
  const uint64_t takes = percent == 0 ? alone : alone * 100 / percent;
  const bool turns = TakesTurns(card);
  // The queue is full while the kernel kQueue launches ago has not begun: wait for its begin.
  const uint64_t first = run.start.load(std::memory_order_relaxed);
  uint64_t now = Now();
  if (turns ? !IsReachedInTurn(state, run.card, first, now) : first > now) {
    AwaitMark(run.card, first);
    now = Now();
  }
  Mark end = 0;
  if (turns) {
    end = SubmitInTurn(state, card, takes, now);
    run.start.store(end - takes, std::memory_order_relaxed);
    run.end.store(end, std::memory_order_relaxed);
  } else {
    end = SubmitLast(state.card(card), own, run, after, takes, now, card);
  }
  run.card.store(card, std::memory_order_relaxed);
  Add(own.kernels, uint64_t{1});
  return end;
}

bool IsReached(unsigned card, Mark mark) {
  if (mark == 0) return true;
  if (!TakesTurns(card)) return mark <= Now();
  return IsReachedInTurn(*TheDriver()->state, card, mark, Now());
}

void AwaitMark(unsigned card, Mark mark) {
  if (!TakesTurns(card)) return SleepUntil(mark);
  State& state = *TheDriver()->state;
  while (!IsReachedInTurn(state, card, mark, Now())) {
    state.Reap();  // a dead process must not keep getting time slices
    SleepUntil(NotBefore(state, card, mark));
  }
}

uint64_t TimeOf(unsigned card, Mark mark) {
  return TakesTurns(card) ? TimeInTurn(*TheDriver()->state, card, mark) : mark;
}

}  // namespace tessera::fake_cuda
