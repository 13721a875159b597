// SPDX-License-Identifier: Apache-2.0
// A hostile region (hostile_region.h), as the limiter in a process uses it: memory, lending between
// processes, launches and charges. All amounts and waits must stay bounded.

#include <sys/mman.h>

#include "limiter/accounting/counters.h"
#include "limiter/accounting/lending.h"
#include "limiter/accounting/slots.h"
#include "limiter/time/bucket.h"
#include "limiter/time/charge.h"
#include "limiter/time/in_flight.h"
#include "limiter/time/monitor.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/hostile_region.h"

namespace tessera::limiter {
namespace {

using fuzz::Require;

constexpr uint64_t kNow = uint64_t{1} << 40;

// A valid region. It is a private mapping, so MADV_DONTNEED drops the last input's pages.
Region* Good() {
  static Region* const region = [] {
    const int file = memfd_create("region", MFD_CLOEXEC);
    Require(ftruncate(file, kRegionSize) == 0, "there is a file");
    void* const shared = mmap(nullptr, kRegionSize, PROT_WRITE, MAP_SHARED, file, 0);
    const RegionDevice device{"GPU-aa", 1 << 30, 30};
    MakeRegion({.devices = &device, .count = 1}, static_cast<Region*>(shared));
    void* const own = mmap(nullptr, kRegionSize, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    return static_cast<Region*>(own);
  }();
  madvise(region, kRegionSize, MADV_DONTNEED);
  return region;
}

void Lend(Accounting* accounting, int device, uint32_t slot) {
  Lending* const lending = &accounting->lendings[slot][device];
  AddTo(&lending->exported, 3 * kUnit);
  TakeFrom(&lending->imported, 2 * kUnit);
  Require(Known(*accounting, device) <= kMaxUnits, "what is known of is an amount");
  Require(MostLent(*accounting, device, slot) <= kMaxUnits, "so is what can be lent");
  Require(TakeDoubtful(accounting, device) <= kMaxUnits, "and what is in doubt");
  Require(!IsDoubtful(*accounting, device), "which nobody is then");
  Partings(*accounting, device);
  Require(Lend(accounting, device, slot, 2, slot) <= 2, "no more is lent than is given up");
  SettleLent(accounting, device);
  Require(LentOf(*accounting, device) <= kMaxUnits, "what is lent is an amount");
}

void UseMemory(Region* region, int slot, Locks* locks) {
  for (int step = 0; step < 8; ++step) {
    const int device = step % 3;
    Move(&region->accounting, device, static_cast<uint32_t>(slot), step % 2 == 0 ? 7 : -5, 1000);
    Mirror(region, static_cast<uint32_t>(slot), device);
    Lend(&region->accounting, device, static_cast<uint32_t>(slot));
  }
  ReapDead(region, slot, 64, locks);
  Empty(region, static_cast<uint32_t>(slot));
  for (int i = 0; i < kMaxDevices; ++i) {
    Require(TotalOf(region->accounting, i) <= kMaxUnits, "a total is an amount");
    Require(ShareOf(&region->accounting, i, static_cast<uint32_t>(slot)) <= kMaxUnits,
            "so is a share");
  }
}

void Launch(const ChargeAccounting& accounting, uint32_t percent, Cost* cost) {
  static constexpr int64_t kCost = 4'000'000;
  const int64_t saved = SavedWhileHeld(*accounting.calibration, kNow, percent);
  Require(saved >= 0 && saved <= static_cast<int64_t>(kMostHeld), "who is held saves that up");
  Require(HeldFor(*accounting.calibration, kNow) <= kMostHeld, "nobody is held for longer");
  Calibrator calibrator{};
  calibrator.MayPass(*cost, true, kNow, accounting.calibration);
  WantCalibration(*cost, kNow, accounting.calibration);
  const uint64_t wait = Take(accounting.times, kNow, percent, kCost, saved);
  Require(wait <= static_cast<uint64_t>(kMostOwed) * 100 / percent + 1, "no wait is endless");
}

void Measure(const ChargeAccounting& accounting, uint32_t percent, Cost* cost, View* view) {
  for (uint32_t runs = 1; runs <= 16; runs += 15) {
    for (const bool is_shared : {false, true}) {
      const Measurement measured{
          cost, 0, {runs, runs}, 4'000'000, kNow - 9'000'000, kNow - 2'000'000, 0};
      const int64_t charged = ChargeOf(measured, is_shared, view, accounting, kNow);
      Correct(accounting.times, kNow, percent, charged);
      view->processes.NoteOwn(charged);
    }
  }
  const int64_t left = LeftIn(accounting.times->bucket);
  Require(left >= -kMostOwed && left <= kLongBurst, "a bucket has its bounds");
}

void FlyAndEnd(Region* region, uint32_t slot, int place) {
  OwnInFlight own{};
  InFlight* const shown = &region->accounting.in_flight[slot][place];
  own.NoteUnmeasured(1, shown);
  const OwnInFlight::Point launched = own.NoteMeasured(shown);
  own.Read(1, launched, shown, 1);
  own.EndWait(kAllStreams, launched, shown);
  for (uint32_t of = 0; of < fuzz::kFirstSlots; ++of) {
    ChargeEnd(region, of, place, kNow, 0);
    Require(region->accounting.in_flight[of][place].since == 0, "an end is charged once");
  }
}

void UseTime(Region* region, uint32_t slot) {
  for (int place = 0; place < 3; ++place) {
    const ChargeAccounting accounting{&region->accounting.times[place],
                                      &region->accounting.calibrations[place]};
    const uint32_t percent = place == 0 ? 30 : place == 1 ? 1 : 99;
    Cost cost{};
    View view{};
    for (int run = 0; run < 4; ++run) {
      Launch(accounting, percent, &cost);
      Measure(accounting, percent, &cost, &view);
    }
    FlyAndEnd(region, slot, place);
    Usage usage{};
    usage.Add(1'000'000, kNow, &region->hami.slots[slot].utilization[place]);
  }
  static uint64_t clock;
  clock = kNow;
  constexpr Clock kClockOfItsOwn{[] { return clock; }, [](uint64_t ns) { clock += ns; }};
  AwaitMonitor(region, kClockOfItsOwn);
  Require(clock - kNow < kLongestBlock + 2 * kMonitorsRound, "nobody is blocked for ever");
}

void Use(const uint8_t* data, size_t size) {
  Region* const region = Good();
  for (; size >= fuzz::Word::kSize; data += fuzz::Word::kSize, size -= fuzz::Word::kSize) {
    fuzz::Word(data).WriteTo(region);
  }
  Locks locks(region, 1, true);
  const int slot = TakeSlot(region, 1, &locks);
  Require(slot >= -1 && slot < kMaxSlots, "a slot is one of them");
  if (slot < 0) return;
  UseTime(region, static_cast<uint32_t>(slot));
  UseMemory(region, slot, &locks);
}

}  // namespace
}  // namespace tessera::limiter

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::limiter::Use(data, size);
  return 0;
}
