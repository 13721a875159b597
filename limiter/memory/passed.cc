// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/passed.h"

#include <time.h>

#include "limiter/accounting/accounting.h"
#include "limiter/accounting/cancel.h"
#include "limiter/accounting/lending.h"
#include "limiter/accounting/slots.h"
#include "limiter/accounting/ticks.h"
#include "limiter/driver/relaxed.h"
#include "limiter/memory/contexts.h"
#include "limiter/memory/devices.h"

namespace tessera::limiter {
namespace {

// Bytes. Smaller memory shares a chunk of the driver's with others, so its release does not show.
constexpr uint64_t kMeasurable = uint64_t{2} << 20;
// How long a balance is valid, since neighbours allocate and free at any time.
constexpr uint64_t kBalanced = 100'000'000;  // ns
// Each failed attempt means that another operation was counted in between.
constexpr int kAttempts = 100;

uint64_t Load(const uint64_t& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
void Store(uint64_t* word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

bool IsCounted(int place) {
  return TheRegion() != nullptr && place >= 0 && place < kMaxDevices;
}
Accounting* TheAccounting() {
  return &TheRegion()->accounting;
}
uint32_t Slot() {
  return static_cast<uint32_t>(OwnSlot());
}
Lending* Own(int place) {
  return &TheAccounting()->lendings[Slot()][place];
}
int64_t Less(uint64_t bytes) {
  return -static_cast<int64_t>(UnitsOf(bytes));
}

CUdevice DeviceAt(int place) {
  return FindDevice([&](CUdevice device) { return PlaceOfDevice(device) == place; });
}

// Free bytes; 0: not known. The driver answers only threads with a context of the device. Without
// one, the primary context is pushed if there is one.
uint64_t FreeOf(CUdevice device) {
  const Relaxed relaxed;
  const uint64_t free = FreeInContext(device);
  if (free != 0) return free;
  const BorrowedPrimary primary(device);
  const PushedContext pushed(primary.context());
  return FreeInContext(device);
}

// Records the sum of free and counted bytes. is_alone: no other release is under way.
void NoteBalance(DeviceAccounting* accounting, uint64_t balance, uint64_t now, bool is_alone) {
  const bool is_fresh = Load(accounting->balance_at) + kBalanced > now;
  if (!is_alone && is_fresh && Load(accounting->balance) <= balance) return;
  Store(&accounting->balance, balance);
  Store(&accounting->balance_at, now);
}

// Waits until dead processes are reaped and the driver has freed their memory.
void AwaitTheDead() {
  ReapAll();
  for (int i = 0; i < 80 && ReapedLately(); ++i) {
    const Uncancelled uncancelled;
    constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 5'000'000};
    nanosleep(&kMoment, nullptr);
  }
}

// Releases the bytes that were not lent.
void ReleaseRest(int place, uint64_t bytes, uint64_t lent) {
  const uint64_t units = UnitsOf(bytes);
  if (units > lent) Move(TheAccounting(), place, Slot(), -static_cast<int64_t>(units - lent), 0);
}

}  // namespace

void NoteExported(int place, uint64_t bytes) {
  if (IsCounted(place)) AddTo(&Own(place)->exported, bytes);
}

void BeginImport(int place) {
  if (!IsCounted(place)) return;
  AddTo(&TheAccounting()->devices[place].imports, uint64_t{1});
  AddTo(&Own(place)->unsized, 1u);
}

void EndImport(int place) {
  if (!IsCounted(place)) return;
  TakeFrom(&Own(place)->unsized, 1u);
  if (LentOf(*TheAccounting(), place) != 0) SettleLent(TheAccounting(), place);
}

bool NoteImported(int place, uint64_t bytes) {
  if (TheRegion() == nullptr) return true;
  if (!IsCounted(place) || bytes > kMaxBytes) return false;
  uint64_t* const imported = &Own(place)->imported;
  AddTo(&TheAccounting()->devices[place].imports, uint64_t{1});
  AddTo(imported, bytes);
  const uint64_t all = __atomic_load_n(imported, __ATOMIC_ACQUIRE);
  if (all <= kMaxBytes && UnitsOf(all) <= Known(*TheAccounting(), place)) return true;
  TakeFrom(imported, bytes);
  return false;
}

void MemoryRelease::Begin() {
  if (!IsCounted(place_)) return;
  device_ = DeviceAt(place_);
  if (device_ < 0) return;
  AwaitTheDead();
  begun_ = Now();
  const Accounting& accounting = *TheAccounting();
  AddTo(&Own(place_)->parting, 1u);
  const bool was_alone = Partings(accounting, place_) == 1;
  TotalWord now{};
  for (int i = 0; i < kAttempts; ++i) {
    now = TotalNow(accounting, place_);
    free_ = FreeOf(device_);
    used_ = AmountOf(now) * kUnit;
    if (IsStill(now, accounting, place_)) break;
  }
  if (free_ == 0) return TakeFrom(&Own(place_)->parting, 1u);
  // A release that has freed memory and not counted it makes the sum too large, so the smallest one
  // is right.
  const bool is_alone = was_alone && Partings(accounting, place_) == 1 &&
                        !IsDoubtful(accounting, place_) && IsStill(now, accounting, place_);
  NoteBalance(&TheAccounting()->devices[place_], free_ + used_, begun_, is_alone);
}

void MemoryRelease::End() const {
  if (!IsCounted(place_)) return;
  Accounting* const accounting = TheAccounting();
  DeviceAccounting* const device = &accounting->devices[place_];
  TakeFrom(&Own(place_)->parting, 1u);
  uint64_t doubtful = 0;
  for (int i = 0; i < kAttempts; ++i) {
    if (Partings(*accounting, place_) != 0 || !CanTell()) return;
    const TotalWord now = TotalNow(*accounting, place_);
    const uint64_t card_free = FreeOf(device_);
    if (card_free == 0) return;
    const uint64_t balance = card_free + AmountOf(now) * kUnit;
    if (Partings(*accounting, place_) != 0 || !IsStill(now, *accounting, place_)) continue;
    const bool is_fresh = Load(device->balance_at) + kBalanced > Now();
    const uint64_t before = Load(device->balance);
    doubtful += TakeDoubtful(accounting, place_);
    const uint64_t more = balance > before ? (balance - before) / kUnit : 0;
    const uint64_t free = more < doubtful ? more : doubtful;
    if (!is_fresh || free == 0 || LentOf(*accounting, place_) == 0) {
      return NoteBalance(device, balance, Now(), true);
    }
    if (MoveSince(now, accounting, place_, kLentSlot, -static_cast<int64_t>(free)))
      doubtful -= free;
  }
}

bool MemoryRelease::CanTell() const {
  if (free_ == 0) return false;
  ReapAll();
  return ReapedAt() < begun_;
}

uint64_t MemoryRelease::Given(const TotalWord& now) const {
  const uint64_t free = FreeOf(device_);
  if (free == 0) return 0;
  const auto more = static_cast<int64_t>(free - free_);
  const auto counted = static_cast<int64_t>(used_ - AmountOf(now) * kUnit);
  return more > counted ? static_cast<uint64_t>(more - counted) : 0;
}

// False: another operation was counted in between.
bool MemoryRelease::TryGiveUp(const TotalWord& now, uint64_t bytes, SharedBy by) const {
  Accounting* const accounting = TheAccounting();
  if (Given(now) >= bytes) return MoveSince(now, accounting, place_, Slot(), Less(bytes));
  if (by == SharedBy::kDescriptor) AddTo(&Own(place_)->kept, bytes);
  const uint64_t lent = Lendable(*accounting, place_, UnitsOf(bytes), kLentSlot);
  if (LendSince(now, accounting, place_, Slot(), lent)) {
    AddTo(&Own(place_)->doubtful, lent * kUnit);
    ReleaseRest(place_, bytes, lent);
    return true;
  }
  if (by == SharedBy::kDescriptor) TakeFrom(&Own(place_)->kept, bytes);
  return false;
}

void MemoryRelease::GiveUp(uint64_t bytes, SharedBy by) const {
  if (!IsCounted(place_)) return;
  bool is_done = false;
  for (int i = 0; i < kAttempts && !is_done && bytes >= kMeasurable && CanTell(); ++i) {
    is_done = TryGiveUp(TotalNow(*TheAccounting(), place_), bytes, by);
  }
  if (!is_done) {
    if (by == SharedBy::kDescriptor) AddTo(&Own(place_)->kept, bytes);
    ReleaseRest(place_, bytes, Lend(TheAccounting(), place_, Slot(), UnitsOf(bytes), kLentSlot));
  }
  Mirror(TheRegion(), Slot(), place_);
  TakeFrom(&Own(place_)->exported, bytes);
}

void MemoryRelease::GiveBack(uint64_t bytes) const {
  if (!IsCounted(place_)) return;
  for (int i = 0; i < kAttempts && CanTell(); ++i) {
    const TotalWord now = TotalNow(*TheAccounting(), place_);
    const uint64_t given = Given(now);
    const uint64_t back = bytes == 0 ? given : given >= bytes ? bytes : 0;
    // Done even with nothing to move: the change makes concurrent measurements start again.
    if (!MoveSince(now, TheAccounting(), place_, kLentSlot, Less(back))) continue;
    if (back == 0) AddTo(&Own(place_)->doubtful, bytes);
    break;
  }
  if (bytes == 0) return EndImport(place_);
  TakeFrom(&Own(place_)->imported, bytes);
  SettleLent(TheAccounting(), place_);
}

uint64_t LendOfPool(int place, uint64_t bytes) {
  if (!IsCounted(place)) return 0;
  TakeFrom(&Own(place)->exported, bytes);
  return Lend(TheAccounting(), place, Slot(), UnitsOf(bytes), kLentSlot) * kUnit;
}

}  // namespace tessera::limiter
