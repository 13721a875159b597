// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/calibration.h"

namespace tessera::limiter {
namespace {

// ns of short kernels, at their cost in company, that may be launched in one moment. Half of it
// must be measured, so that their mean is steady.
constexpr uint64_t kEnough = 20'000'000;  // ns

struct Moment {
  uint64_t from;  // 0: there is none
  uint64_t until;
};

Moment MomentOf(const CalibrationAccounting& accounting) {
  const Moment moment{__atomic_load_n(&accounting.alone_from, __ATOMIC_ACQUIRE),
                      __atomic_load_n(&accounting.alone_until, __ATOMIC_RELAXED)};
  const bool is_one = moment.until > moment.from && moment.until - moment.from <= kMostHeld;
  return is_one ? moment : Moment{};
}

}  // namespace

uint64_t HeldFor(const CalibrationAccounting& accounting, uint64_t now) {
  const uint64_t until = __atomic_load_n(&accounting.held_until, __ATOMIC_RELAXED);
  return until > now && until - now <= kMostHeld ? until - now : 0;
}

int64_t SavedWhileHeld(const CalibrationAccounting& accounting, uint64_t now, uint32_t percent) {
  constexpr uint64_t kLately = 1'000'000'000;  // ns
  const uint64_t from = __atomic_load_n(&accounting.held_from, __ATOMIC_RELAXED);
  uint64_t until = __atomic_load_n(&accounting.held_until, __ATOMIC_RELAXED);
  if (until > now) until = now;
  if (from == 0 || from >= until || until - from > kMostHeld || now - until > kLately) return 0;
  return static_cast<int64_t>((until - from) * percent / 100);
}

void WantCalibration(const Cost& cost, uint64_t now, CalibrationAccounting* accounting) {
  __atomic_store_n(&accounting->wanted_ns, cost.took(), __ATOMIC_RELAXED);
  __atomic_store_n(&accounting->wanted_at, now, __ATOMIC_RELEASE);
}

bool Calibrate(const Measurement& measured, uint64_t busy, uint64_t now,
               CalibrationAccounting* accounting) {
  const Moment moment = MomentOf(*accounting);
  if (measured.start < moment.from || measured.end > moment.until || busy == 0) return false;
  if (!measured.cost->Calibrate(busy, now)) return false;
  if (measured.end - moment.from >= kEnough / 2) {
    __atomic_store_n(&accounting->done_at, now, __ATOMIC_RELAXED);
  }
  return true;
}

bool Calibrator::MayPass(const Cost& cost, bool is_to_be_calibrated, uint64_t now,
                         CalibrationAccounting* accounting) {
  const Moment moment = MomentOf(*accounting);
  if (now < moment.from || now >= moment.until) return false;
  const uint64_t takes = cost.took();
  if (takes == 0) return false;  // it may take long
  if (taken_.load(std::memory_order_relaxed) == moment.from) {
    return now - moment.from < kEnough &&
           passed_.fetch_add(takes, std::memory_order_relaxed) < kEnough;
  }
  if (!is_to_be_calibrated || takes > moment.until - now) return false;
  // Processes race for the moment; the exchange gives it to one of them.
  uint64_t taken = __atomic_load_n(&accounting->taken, __ATOMIC_RELAXED);
  if (taken == moment.from ||
      !__atomic_compare_exchange_n(&accounting->taken, &taken, moment.from, false, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED)) {
    return false;
  }
  passed_.store(takes, std::memory_order_relaxed);
  taken_.store(moment.from, std::memory_order_relaxed);
  return true;
}

}  // namespace tessera::limiter
