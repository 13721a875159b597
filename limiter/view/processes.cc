// SPDX-License-Identifier: Apache-2.0
#include "limiter/view/processes.h"

#include "limiter/accounting/accounting.h"
#include "limiter/accounting/counters.h"

namespace tessera::limiter {

bool KnowsProcesses(int place) {
  if (place < 0 || place >= kMaxDevices || TheRegion() == nullptr) return false;
  return Limit(place) != 0 || Percent(place) != 0;
}

uint32_t ProcessesOf(int place, ProcessView* processes, uint32_t room) {
  LookForTheDead();
  Region* const region = TheRegion();
  if (region == nullptr) return 0;
  uint32_t slots = __atomic_load_n(&region->accounting.slots_used, __ATOMIC_ACQUIRE);
  const auto own =
      static_cast<uint32_t>(OwnSlot()) + 1;  // a process that is alone raises no slots_used
  if (slots < own) slots = own;
  if (slots > kMaxSlots) slots = kMaxSlots;
  uint32_t count = 0;
  for (uint32_t slot = 0; slot < slots; ++slot) {
    const SlotAccounting& accounting = region->accounting.slots[slot];
    const uint64_t owner = __atomic_load_n(&accounting.owner, __ATOMIC_RELAXED);
    if (owner == 0) continue;
    const uint64_t bytes = ShareOf(&region->accounting, place, slot) * kUnit;
    // A process that only queries NVML has a slot as well.
    if (bytes == 0) continue;
    if (count < room) {
      const uint64_t* const sm = &region->hami.slots[slot].utilization[place].sm;
      const uint64_t busy = __atomic_load_n(sm, __ATOMIC_RELAXED);
      processes[count] = {static_cast<uint32_t>(owner), bytes,
                          static_cast<uint32_t>(busy < 100 ? busy : 100)};
    }
    ++count;
  }
  return count;
}

}  // namespace tessera::limiter
