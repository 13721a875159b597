// SPDX-License-Identifier: Apache-2.0
#include "limiter/accounting/slots.h"

#include <string.h>

#include "limiter/accounting/counters.h"
#include "limiter/accounting/lending.h"
#include "limiter/accounting/ticks.h"
#include "limiter/time/in_flight.h"

namespace tessera::limiter {
namespace {

uint32_t SlotsUsed(const Region& region) {
  const uint32_t used = __atomic_load_n(&region.accounting.slots_used, __ATOMIC_ACQUIRE);
  return used < kMaxSlots ? used : kMaxSlots;
}

bool IsTaken(const Region& region, uint32_t slot) {
  return __atomic_load_n(&region.accounting.slots[slot].owner, __ATOMIC_RELAXED) != 0;
}

template <typename T>
void Store(T* word, T value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

}  // namespace

void NoteDeath(Region* region) {
  Store(&region->accounting.reaped_at, Now());
}

void RaiseTo(uint32_t* word, uint32_t value) {
  uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (seen < value && !__atomic_compare_exchange_n(word, &seen, value, false, __ATOMIC_ACQ_REL,
                                                      __ATOMIC_RELAXED)) {
  }
}

void Mirror(Region* region, uint32_t slot, int device) {
  HamiUsed* const used = &region->hami.slots[slot].used[device];
  const ShareWord* const word = &region->accounting.slots[slot].share[device];
  ShareWord seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  // Threads race to write the mirror. A thread that sees the share change writes again, four times
  // at most.
  for (int i = 0; i < 4; ++i) {
    const uint64_t total = (seen & kMaxUnits) * kUnit;
    const uint64_t other = __atomic_load_n(&used->context, __ATOMIC_RELAXED) +
                           __atomic_load_n(&used->module, __ATOMIC_RELAXED);
    Store(&used->total, total);
    Store(&used->data, total > other ? total - other : 0);
    const ShareWord now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    if (now == seen) return;
    seen = now;
  }
}

void Retire(Region* region, uint32_t slot) {
  const uint64_t now = Now();
  uint64_t began = 0;
  for (int device = 0; device < kMaxDevices; ++device) {
    const bool is_in_flight = region->accounting.in_flight[slot][device].since != 0;
    if (is_in_flight && began == 0) began = ContainerBegan();
    ChargeEnd(region, slot, device, now, began);
  }
  HamiSlot* const shown = &region->hami.slots[slot];
  memset(shown->used, 0, sizeof(shown->used));
  memset(shown->monitor_used, 0, sizeof(shown->monitor_used));
  memset(shown->utilization, 0, sizeof(shown->utilization));
  Store(&shown->host_pid, 0);
  Store(&shown->status, 0);
  Store(&shown->pid, 0);
}

void Empty(Region* region, uint32_t slot) {
  for (int device = 0; device < kMaxDevices; ++device) {
    // If this process is killed here, the next claimer repeats all steps. The lending words go
    // last: without them the rest of the share would be released, and none of it lent.
    LendOfTheDead(&region->accounting, device, slot);
    const uint64_t units = ShareOf(&region->accounting, device, slot);
    if (units != 0) Move(&region->accounting, device, slot, -static_cast<int64_t>(units), 0);
    ClearLending(&region->accounting, device, slot);
  }
  Retire(region, slot);
}

int TakeSlot(Region* region, uint64_t identity, Locks* locks) {
  int taken = -1;
  const uint32_t used = SlotsUsed(*region);
  for (uint32_t slot = 0; slot < kMaxSlots; ++slot) {
    if (slot >= used && taken >= 0) break;
    // A free slot is claimed only until one is found. A taken one is always tried, since its
    // process may be dead.
    if (taken >= 0 && !IsTaken(*region, slot)) continue;
    const bool was_taken = IsTaken(*region, slot);
    if (!locks->Claim(slot)) continue;
    Empty(region, slot);
    if (was_taken) NoteDeath(region);
    if (taken >= 0) {
      locks->Drop(slot);
    } else {
      taken = static_cast<int>(slot);
    }
  }
  if (taken < 0) return -1;
  const auto slot = static_cast<uint32_t>(taken);
  __atomic_store_n(&region->accounting.slots[slot].owner, identity, __ATOMIC_RELEASE);
  RaiseTo(&region->accounting.slots_used, slot + 1);
  RaiseTo(reinterpret_cast<uint32_t*>(&region->hami.proc_num), slot + 1);
  HamiSlot* const shown = &region->hami.slots[slot];
  Store(&shown->pid, static_cast<int32_t>(static_cast<uint32_t>(identity)));
  Store(&shown->status, kHamiSlotRuns);
  return taken;
}

int ReapDead(Region* region, int own, int most, Locks* locks) {
  const uint32_t used = SlotsUsed(*region);
  if (used == 0) return 0;
  int reaped = 0;
  uint32_t slot = __atomic_load_n(&region->accounting.look_at, __ATOMIC_RELAXED) % used;
  for (uint32_t i = 0; i < used && most > 0; ++i, slot = (slot + 1) % used) {
    if (static_cast<int>(slot) == own || !IsTaken(*region, slot)) continue;
    --most;
    if (!locks->Claim(slot)) continue;
    Empty(region, slot);
    NoteDeath(region);
    locks->Drop(slot);
    ++reaped;
  }
  Store(&region->accounting.look_at, slot);
  return reaped;
}

}  // namespace tessera::limiter
