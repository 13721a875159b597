// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/charge.h"

#include "limiter/time/bucket.h"

namespace tessera::limiter {
namespace {

// A run was measured that stands for others: so much more or less than was taken for it, they took
// as well. Where this is not so, other runs make up for it. More than that is no mistake; and that
// a program was held up between two calls is not what the others took.
int64_t ForOthers(const Measurement& measured, uint64_t busy) {
  constexpr int64_t kMost = 2'000'000'000;  // ns
  int64_t more = static_cast<int64_t>(busy) - measured.taken;
  if (more > 0) {
    more -= static_cast<int64_t>(measured.held_up);
    if (more < 0) more = 0;
  }
  more *= static_cast<int64_t>(measured.weight.runs) - 1;
  return more < kMost ? more : kMost;
}

bool IsShort(const Measurement& measured) {
  const uint64_t known = measured.cost->ns();
  return (known != 0 && known < kLongIfShared) || measured.end - measured.start < kLongIfShared;
}

// Where all that takes long is measured, by all processes, each moment in which the device was busy
// is charged once, to whoever tells of it first. Runs too short for that may have waited for one of
// another process unseen: they are charged what such a run takes alone. Who waits for a sibling
// cannot be told from who waits for a neighbour, so that only without those it is known who must
// have had what is not charged.
int64_t AmongSiblings(const Measurement& measured, Company company, uint64_t busy, uint64_t own,
                      ContainerProcesses* processes, const TimeAccounting& accounting) {
  Cost* const cost = measured.cost;
  const bool is_short = IsShort(measured);
  cost->Learn(measured.end - measured.start, busy, is_short ? Company::kSiblings : Company::kNone);
  const uint64_t charged = is_short ? cost->ns() : busy;
  if (company != Company::kNone) return static_cast<int64_t>(charged);
  const uint64_t waited = own > charged ? (own - charged) * measured.weight.waits : 0;
  return static_cast<int64_t>(charged + processes->Unexplained(accounting, waited)) +
         ForOthers(measured, charged);
}

// Alone in the container, or where there may be other ones. Without the agent siblings are taken
// for neighbours: what is not charged to who waited is charged to whom it waited for, if that is a
// sibling.
int64_t Charged(const Measurement& measured, Company company, bool is_shared, View* view,
                const ChargeAccounting& accounting, uint64_t now) {
  Cost* const cost = measured.cost;
  const uint64_t newly = NewlyBusy(accounting.times, now, measured.start, measured.end);
  const uint64_t own = view->busy.Newly(measured.start, measured.end < now ? measured.end : now);
  if (is_shared && company == Company::kUnknown && !IsShort(measured)) {
    company = Company::kNeighbours;
  }
  if (is_shared && company != Company::kNeighbours) {
    return AmongSiblings(measured, company, newly, own, &view->processes, *accounting.times);
  }
  const uint64_t busy = is_shared ? newly : own;
  // What it took then is nothing of what such runs take beside others.
  if (!Calibrate(measured, own, now, accounting.calibration)) {
    cost->Learn(measured.end - measured.start, busy, company);
  }
  if (cost->waits()) {
    const SoloRun run{busy, cost->ns(), measured.weight, measured.held_up};
    return static_cast<int64_t>(ChargeSoloRun(accounting.times, run));
  }
  return static_cast<int64_t>(busy) + (company == Company::kNone ? ForOthers(measured, busy) : 0);
}

}  // namespace

int64_t ChargeOf(const Measurement& measured, bool is_shared, View* view,
                 const ChargeAccounting& accounting, uint64_t now) {
  const Company company = view->neighbours.ReadCompany(*accounting.times, now);
  return Charged(measured, company, is_shared, view, accounting, now) +
         static_cast<int64_t>(SettleWaited(accounting.times, company));
}

}  // namespace tessera::limiter
