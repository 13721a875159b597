// SPDX-License-Identifier: Apache-2.0
#include "limiter/accounting/join.h"

#include <sys/mman.h>
#include <unistd.h>

#include "limiter/accounting/cancel.h"
#include "limiter/accounting/locks.h"
#include "limiter/accounting/slots.h"
#include "limiter/accounting/ticks.h"
#include "limiter/contract.h"
#include "limiter/limits/text.h"
#include "limiter/log/kept_errno.h"
#include "limiter/log/report.h"

namespace tessera::limiter {
namespace {

// The container's region in this process's memory. A forked child inherits the mapping and uses it.
struct MappedRegion {
  Region* region;
  FileIdentity file;
};
constinit MappedRegion mapped{};

// Keeps the file's limits in this process's own memory, so that writes of the container into the
// region change none of them.
bool TakeFileLimits(const Limits& limits, Process* process) {
  for (int i = 0; i < limits.count; ++i) {
    const DeviceLimit& device = limits.devices[i];
    const int place = PlaceOf(process->region, device.uuid, kMaxDevices);
    if (place < 0) return false;
    process->limit[place] = device.bytes;
    // Managed memory beyond the card is refused by the library alone; the driver does not.
    const bool by_driver = limits.memory_by_driver && !limits.oversubscribe;
    process->most[place] = by_driver ? 0 : device.bytes;
    process->percent[place] = device.cores < 100 ? device.cores : 0;
    process->region->hami.limit[place] = device.bytes;
    process->region->hami.sm_limit[place] = device.cores == 0 ? 100 : device.cores;
  }
  return true;
}

Trouble Map(int file, const FileIdentity& identity) {
  if (mapped.region != nullptr && mapped.file == identity) return Trouble::kNone;
  Region* const region = MapRegion(file);
  if (region == nullptr) return Trouble::kNoRoom;
  mapped = {region, identity};
  return Trouble::kNone;
}

Trouble JoinRegion(const Limits& limits, Process* process) {
  Trouble trouble = Trouble::kNone;
  const int file = OpenRegion(limits, &process->file, &trouble);
  if (file < 0) return trouble;
  trouble = Map(file, process->file);
  close(file);
  if (trouble != Trouble::kNone) return trouble;
  process->region = mapped.region;
  // Locks belong to an open description. A forked child inherits the mapping of the first one and
  // would keep its locks, so the lock gets a second description.
  Locks locks(process->region, process->identity, process->without_locks);
  locks.Use(OpenAgain(limits.region, process->file));
  if (!locks.usable()) return WhyNotOpened();
  process->slot = TakeSlot(process->region, process->identity, &locks);
  if (process->slot < 0) return Trouble::kFull;
  return locks.Keep() ? Trouble::kNone : Trouble::kNoRoom;
}

// A private region: the same accounting then enforces the same limits for this process alone.
bool BeAlone(const Limits& limits, Process* process) {
  void* const memory =
      mmap(nullptr, kRegionSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  process->region = static_cast<Region*>(memory);
  MakeRegionOf(limits, process->region);
  process->slot = 0;
  process->region->accounting.slots[0].owner = process->identity;
  process->region->hami.slots[0].pid = static_cast<int32_t>(getpid());
  return true;
}

JoinState Decide(const Limits& limits, Process* process) {
  process->limits = &limits;
  process->from_file = limits.source == Source::kFile;
  process->identity = OwnIdentity();
  process->trouble = Trouble::kNoLimits;
  if (limits.broken) return JoinState::kDenied;
  Trouble& trouble = process->trouble;
  trouble = JoinRegion(limits, process);
  const bool limited = limits.source != Source::kNone;
  // The region appeared after this process looked for limits, so its words are not this process's
  // limits.
  if (trouble == Trouble::kNone && !limited && limits.closed) trouble = Trouble::kNoLimits;
  JoinState standing = JoinState::kShared;
  if (trouble != Trouble::kNone) {
    standing = JoinState::kDenied;
    if (!limited && !limits.closed) {
      standing = JoinState::kFree;
    } else if (!Denies(trouble, limits.closed) && BeAlone(limits, process)) {
      standing = JoinState::kAlone;
    }
  }
  const bool has_region = standing == JoinState::kShared || standing == JoinState::kAlone;
  if (has_region && process->from_file && !TakeFileLimits(limits, process)) {
    trouble = Trouble::kForeign;
    standing = JoinState::kDenied;
  }
  process->looked_at.store(Ticks(), std::memory_order_relaxed);
  process->looked_at_time.store(Now(), std::memory_order_relaxed);
#if defined(__x86_64__)
  process->look_after.store(200'000'000, std::memory_order_relaxed);
#else
  process->look_after.store(2'500'000, std::memory_order_relaxed);
#endif
  return standing;
}

}  // namespace

int PlaceOf(Region* region, const char* uuid, int places) {
  const uint64_t key = DeviceKey(uuid);
  for (int i = 0; i < places; ++i) {
    if (__atomic_load_n(&region->accounting.devices[i].key, __ATOMIC_ACQUIRE) == key) return i;
  }
  for (int i = 0; i < places; ++i) {
    uint64_t seen = 0;
    uint64_t* const word = &region->accounting.devices[i].key;
    // Processes may race for this place. If another one took it for the same device, they share it.
    const bool taken =
        __atomic_compare_exchange_n(word, &seen, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (!taken && seen != key) continue;
    Copy(Text(uuid), region->hami.uuids[i], kUuidSize);
    uint64_t* const count = &region->hami.device_num;
    const auto least = static_cast<uint64_t>(i) + 1;
    if (__atomic_load_n(count, __ATOMIC_RELAXED) < least) {
      __atomic_store_n(count, least, __ATOMIC_RELAXED);
    }
    return i;
  }
  return -1;
}

JoinState JoinBy(const Limits* limits, bool without_locks, Process* process) {
  const Uncancelled uncancelled;
  const KeptErrno kept;
  JoinState standing = JoinState::kUnknown;
  {
    const Locked lock(&process->joining);
    standing = process->standing.load(std::memory_order_acquire);
    if (standing != JoinState::kUnknown) return standing;
    process->without_locks = without_locks;
    standing = Decide(limits != nullptr ? *limits : TheLimits(), process);
    process->standing.store(standing, std::memory_order_release);
  }
  // Reported after the lock is released: the reader of the log may be slow.
  ReportLimits(*process->limits, process->trouble, process->slot);
  return standing;
}

}  // namespace tessera::limiter
