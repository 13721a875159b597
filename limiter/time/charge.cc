// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/charge.h"

#include "limiter/time/bucket.h"

namespace tessera::limiter {
namespace {

// A measured run stands for others, which cost as much more or less than was taken for them. Other
// samples make up for errors. A larger difference is a mistake. A pause of the program between two
// calls is not part of the other runs.
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

// With siblings, every long run is measured by every process. Each busy moment is charged once, to
// the process that reports it first. Short runs may have waited, unseen, for another process's run;
// they are charged their cost alone. A wait for a sibling looks like a wait for a neighbour. So
// uncharged time can be attributed to siblings only if there are no neighbours.
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

// For a process alone in its container, or with neighbours on the device. Without the agent,
// siblings are treated as neighbours: time not charged to the waiting process is charged to the
// sibling that it waited for.
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
  // A calibrated run says nothing about runs in company.
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
