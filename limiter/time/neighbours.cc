// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/neighbours.h"

#include "limiter/time/bucket.h"

namespace tessera::limiter {
namespace {

uint64_t Load(const uint64_t& word) {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

bool Swap(uint64_t* word, uint64_t* seen, uint64_t value) {
  return __atomic_compare_exchange_n(word, seen, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

}  // namespace

Company Neighbours::ReadCompany(const TimeAccounting& accounting, uint64_t now) {
  const uint64_t at = __atomic_load_n(&accounting.others_at, __ATOMIC_ACQUIRE);
  const uint64_t others = Load(accounting.others);
  if (at == 0 || (at < now && now - at > kLate) || (at > now && at - now > kLate)) {
    seen_at_.store(0, std::memory_order_relaxed);
    return Company::kUnknown;
  }
  const uint64_t seen_at = seen_at_.load(std::memory_order_relaxed);
  if (at != seen_at) {
    const uint64_t seen = seen_.exchange(others, std::memory_order_relaxed);
    seen_at_.store(at, std::memory_order_relaxed);
    // The first report says nothing about recent use.
    const bool had =
        seen_at != 0 && others > seen && at > seen_at && (others - seen) * 100 > at - seen_at;
    if (had || seen_at == 0) last_.store(at, std::memory_order_relaxed);
  }
  return at - last_.load(std::memory_order_relaxed) < kLinger ? Company::kNeighbours
                                                              : Company::kNone;
}

uint64_t ChargeSoloRun(TimeAccounting* accounting, const SoloRun& run) {
  // A pause of the program between two calls is not part of the runs that this one stands for.
  const uint64_t longer = run.busy > run.cost ? run.busy - run.cost : 0;
  const uint64_t of_others = longer > run.held_up ? longer - run.held_up : 0;
  uint64_t seen = Load(accounting->waited);
  for (;;) {
    // For a sampled run the busy time of the others is not measured.
    const uint64_t most = run.weight.runs > 1 ? run.cost : run.busy + seen;
    const uint64_t charged = run.cost < most ? run.cost : most;
    const uint64_t waited = run.weight.runs > 1 ? seen + longer + of_others * (run.weight.waits - 1)
                                                : run.busy + seen - charged;
    if (waited == seen || Swap(&accounting->waited, &seen, waited)) return charged;
  }
}

uint64_t SettleWaited(TimeAccounting* accounting, Company company) {
  if (company == Company::kUnknown) {
    uint64_t seen = Load(accounting->waited);
    while (seen > kUnexplained && !Swap(&accounting->waited, &seen, kUnexplained)) {
    }
    return 0;
  }
  const uint64_t others = Load(accounting->others);
  uint64_t settled = Load(accounting->settled);
  uint64_t had = 0;
  if (settled != others && Swap(&accounting->settled, &settled, others)) {
    // On the first report, or one of another boot, the interval is unknown.
    had = settled == 0 || others < settled ? UINT64_MAX : others - settled;
  }
  uint64_t seen = Load(accounting->waited);
  for (;;) {
    const uint64_t left = seen > had ? seen - had : 0;
    const uint64_t kept = left < kUnexplained ? left : kUnexplained;
    if (kept == seen) return 0;
    if (!Swap(&accounting->waited, &seen, kept)) continue;
    // Any process of the container can write the number.
    const uint64_t unexplained = left - kept;
    return unexplained < kMostOwed ? unexplained : kMostOwed;
  }
}

}  // namespace tessera::limiter
