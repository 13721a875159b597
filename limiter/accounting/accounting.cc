// SPDX-License-Identifier: Apache-2.0
#include "limiter/accounting/accounting.h"

#include <string.h>

#include "limiter/accounting/cancel.h"
#include "limiter/accounting/counters.h"
#include "limiter/accounting/join.h"
#include "limiter/accounting/locks.h"
#include "limiter/accounting/slots.h"
#include "limiter/accounting/ticks.h"
#include "limiter/contract.h"
#include "limiter/limits/text.h"
#include "limiter/log/kept_errno.h"
#include "limiter/log/report.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kLookEvery = 100'000'000;  // ns
// A context takes no less and no more. Other values are another process's doing.
constexpr uint64_t kLeastOfContext = uint64_t{1} << 20;
constexpr uint64_t kMostOfContext = uint64_t{2} << 30;
// The most slots about which one search asks the kernel, so that no call takes long.
constexpr int kSlotsOfALook = 64;

inline bool IsDevice(int device) {
  return device >= 0 && device < kMaxDevices;
}

inline uint64_t LimitOf(const Process& process, int device) {
  const auto at = static_cast<size_t>(device);
  return process.from_file ? process.limit[at]
                           : __atomic_load_n(&process.region->hami.limit[at], __ATOMIC_RELAXED);
}

bool IsShared(const Process* process) {
  return process != nullptr &&
         process->standing.load(std::memory_order_acquire) == JoinState::kShared;
}

// The amount past which the library refuses; 0: it refuses nothing.
inline uint64_t MostOf(const Process& process, int device) {
  return process.from_file ? process.most[static_cast<size_t>(device)] : LimitOf(process, device);
}

bool Look(Process* process, int most) {
  const Uncancelled uncancelled;
  const KeptErrno kept;
  Locks locks(process->region, process->identity, process->without_locks);
  locks.Use(OpenAgain(process->limits->region, process->file));
  return (locks.usable() || process->without_locks) &&
         ReapDead(process->region, process->slot, most, &locks) > 0;
}

[[gnu::noinline]] void LookAgain(uint64_t seen, uint64_t ticks, Process* process) {
  // Threads race here; the one whose exchange succeeds searches.
  if (!process->looked_at.compare_exchange_strong(seen, ticks, std::memory_order_relaxed)) return;
  const uint64_t now = Now();
  const uint64_t before = process->looked_at_time.exchange(now, std::memory_order_relaxed);
  const uint64_t passed = now > before ? now - before : 1;
  const double rate = static_cast<double>(ticks - seen) / static_cast<double>(passed);
  if (rate > 0.001 && rate < 100) {
    process->look_after.store(static_cast<uint64_t>(rate * static_cast<double>(kLookEvery)),
                              std::memory_order_relaxed);
  }
  Look(process, kSlotsOfALook);
}

inline void LookNowAndThen(Process* process) {
  const uint64_t ticks = Ticks();
  const uint64_t seen = process->looked_at.load(std::memory_order_relaxed);
  if (ticks - seen >= process->look_after.load(std::memory_order_relaxed)) [[unlikely]] {
    LookAgain(seen, ticks, process);
  }
}

struct DeviceName {
  char text[kUuidSize];
};
DeviceName NameOf(const Region& region, int device) {
  DeviceName name;
  const char* const written = region.hami.uuids[device];
  Copy(Text(written, Text(written, kUuidSize).Find('\0')), name.text, sizeof name.text);
  return name;
}

// False, always.
[[gnu::noinline, gnu::cold]] bool Deny(const Process& process, int device, uint64_t bytes) {
  const Region* const region = process.region;
  if (region == nullptr || !IsDevice(device)) {
    ReportDenial(*process.limits, "", bytes, 0, 0);
  } else {
    ReportDenial(*process.limits, NameOf(*region, device).text, bytes,
                 TotalOf(region->accounting, device) * kUnit, LimitOf(process, device));
  }
  return false;
}

// HAMi's monitor shows contexts and modules as separate columns.
inline void Show(Kind kind, int64_t units, int device, Process* process) {
  HamiUsed* const used = &process->region->hami.slots[process->slot].used[device];
  if (kind != Kind::kData) {
    uint64_t* const word = kind == Kind::kContext ? &used->context : &used->module;
    __atomic_fetch_add(word, static_cast<uint64_t>(units) * kUnit, __ATOMIC_RELAXED);
  }
  Mirror(process->region, static_cast<uint32_t>(process->slot), device);
}

}  // namespace

bool Join() {
  return JoinStateOf(TheProcess()) == JoinState::kShared;
}

bool JoinWith(const Limits& limits, bool without_locks) {
  Process* const process = TheProcess();
  return process != nullptr && JoinBy(&limits, without_locks, process) == JoinState::kShared;
}

int DeviceOf(const char* uuid) {
  Process* const process = TheProcess();
  const JoinState standing = JoinStateOf(process);
  if (standing == JoinState::kFree) return -1;
  if (process == nullptr || process->limits->broken) return 0;
  const Limits& limits = *process->limits;
  if (uuid == nullptr) return kDeniedDevice;
  if (process->from_file) {
    int named = 0;
    while (named < limits.count && strcmp(limits.devices[named].uuid, uuid) != 0) ++named;
    if (named == limits.count) return kDeniedDevice;
    if (!HasAccounting(standing)) return named;
  }
  if (!HasAccounting(standing)) return 0;
  const int places = process->from_file ? kMaxDevices : limits.count;
  const int place = PlaceOf(process->region, uuid, places);
  // The environment may count more devices than the region has places for.
  const bool is_denied = process->from_file || (limits.closed && places == kMaxDevices);
  return place < 0 && is_denied ? kDeniedDevice : place;
}

bool WouldTakePlace(const char* uuid) {
  Process* const process = TheProcess();
  if (!HasAccounting(JoinStateOf(process)) || process->limits->broken || process->from_file)
    return false;
  const uint64_t key = DeviceKey(uuid);
  for (int i = 0; i < process->limits->count; ++i) {
    const uint64_t taken =
        __atomic_load_n(&process->region->accounting.devices[i].key, __ATOMIC_ACQUIRE);
    if (taken == key) return false;
    if (taken == 0) return true;
  }
  return false;
}

bool LimitsNameDevices() {
  const Process* const process = TheProcess();
  return process != nullptr && process->from_file;
}

bool TryReserve(int device, uint64_t bytes, Kind kind) {
  Process* const process = TheProcess();
  const JoinState standing = JoinStateOf(process);
  if (standing == JoinState::kFree || device < 0) return true;
  if (standing == JoinState::kDenied || !IsDevice(device)) [[unlikely]]
    return false;
  if (standing == JoinState::kShared) LookNowAndThen(process);
  if (bytes > kMaxBytes) [[unlikely]]
    return false;
  const auto units = static_cast<int64_t>(UnitsOf(bytes));
  const uint64_t limit = MostOf(*process, device);
  const uint64_t most = limit == 0 || limit > kMaxBytes ? kMaxUnits : limit / kUnit;
  Accounting* const accounting = &process->region->accounting;
  const auto slot = static_cast<uint32_t>(process->slot);
  MoveResult moved = Move(accounting, device, slot, units, most);
  if (moved == MoveResult::kPastLimit && standing == JoinState::kShared) {
    // Memory of dead processes is free to use: reap all of them, then try once more.
    Look(process, kMaxSlots);
    moved = Move(accounting, device, slot, units, most);
  }
  if (moved != MoveResult::kDone) [[unlikely]]
    return false;
  Show(kind, units, device, process);
  return true;
}

bool Reserve(int device, uint64_t bytes, Kind kind) {
  return TryReserve(device, bytes, kind) || Refuse(device, bytes);
}

bool Refuse(int device, uint64_t bytes) {
  const Process* const process = TheProcess();
  if (Region* const region = TheRegion(); region != nullptr) {
    __atomic_fetch_add(&region->accounting.slots[process->slot].refused, 1, __ATOMIC_RELAXED);
  }
  return process != nullptr && Deny(*process, device, bytes);
}

void SayManaged(int device, uint64_t bytes) {
  const Process* const process = TheProcess();
  const Region* const region = TheRegion();
  if (region == nullptr || !IsDevice(device)) return;
  ReportManaged(*process->limits, NameOf(*region, device).text, bytes, Used(device),
                LimitOf(*process, device));
}

void ShowManaged(int device, int64_t bytes) {
  Region* const region = TheRegion();
  if (region == nullptr || !IsDevice(device)) return;
  uint64_t* const word = &region->hami.slots[OwnSlot()].used[device].managed;
  __atomic_fetch_add(word, static_cast<uint64_t>(bytes), __ATOMIC_RELAXED);
}

void Count(int device, uint64_t bytes, Kind kind) {
  Process* const process = TheProcess();
  if (!HasAccounting(JoinStateOf(process)) || !IsDevice(device) || bytes > kMaxBytes) return;
  const auto units = static_cast<int64_t>(UnitsOf(bytes));
  const auto slot = static_cast<uint32_t>(process->slot);
  Move(&process->region->accounting, device, slot, units, kMaxUnits);
  Show(kind, units, device, process);
}

void Release(int device, uint64_t bytes, Kind kind) {
  Process* const process = TheProcess();
  // Not joined: a forked child frees its parent's memory, which was never counted for the child.
  if (process == nullptr || !IsDevice(device) || bytes > kMaxBytes ||
      !HasAccounting(process->standing.load(std::memory_order_acquire))) {
    return;
  }
  const auto units = static_cast<int64_t>(UnitsOf(bytes));
  const auto slot = static_cast<uint32_t>(process->slot);
  Move(&process->region->accounting, device, slot, -units, 0);
  Show(kind, -units, device, process);
}

uint64_t Used(int device) {
  Process* const process = TheProcess();
  if (!HasAccounting(JoinStateOf(process)) || !IsDevice(device)) return 0;
  return TotalOf(process->region->accounting, device) * kUnit;
}

uint64_t Limit(int device) {
  Process* const process = TheProcess();
  const JoinState standing = JoinStateOf(process);
  if (device < 0 || standing == JoinState::kFree) return 0;
  const bool is_denied = standing == JoinState::kDenied || !IsDevice(device);
  return is_denied ? 1 : LimitOf(*process, device);
}

uint64_t ContextBytes(int device) {
  Process* const process = TheProcess();
  if (!HasAccounting(JoinStateOf(process)) || !IsDevice(device)) return 0;
  const uint64_t* const word = &process->region->accounting.devices[device].context;
  const uint64_t bytes = __atomic_load_n(word, __ATOMIC_RELAXED);
  return bytes <= kMostOfContext ? bytes : 0;
}

void NoteContextBytes(int device, uint64_t bytes) {
  Process* const process = TheProcess();
  if (!HasAccounting(JoinStateOf(process)) || !IsDevice(device)) return;
  if (bytes < kLeastOfContext || bytes > kMostOfContext) return;
  uint64_t* const word = &process->region->accounting.devices[device].context;
  uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (
      (seen == 0 || bytes < seen) &&
      !__atomic_compare_exchange_n(word, &seen, bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

uint32_t Percent(int device) {
  const Process* const process = TheProcess();
  if (TheRegion() == nullptr || !IsDevice(device)) return 0;
  const auto at = static_cast<size_t>(device);
  if (process->from_file) return process->percent[at];
  const uint64_t said = __atomic_load_n(&process->region->hami.sm_limit[at], __ATOMIC_RELAXED);
  return said < 100 ? static_cast<uint32_t>(said) : 0;
}

CorePolicy Policy() {
  return TheRegion() == nullptr ? CorePolicy::kDisable : TheProcess()->limits->core_policy;
}

bool Oversubscribes() {
  return TheRegion() != nullptr && TheProcess()->limits->oversubscribe;
}

uint64_t ReapedAt() {
  const Process* const process = TheProcess();
  return IsShared(process)
             ? __atomic_load_n(&process->region->accounting.reaped_at, __ATOMIC_RELAXED)
             : 0;
}

bool ReapedLately() {
  const uint64_t at = ReapedAt();
  return at != 0 && Now() - at < kGivenBackAfter;
}

void ReapAll() {
  Process* const process = TheProcess();
  if (IsShared(process)) Look(process, kMaxSlots);
}

void LookForTheDead() {
  Process* const process = JoinedProcess();
  if (IsShared(process)) LookNowAndThen(process);
}

void Leave() {
  Process* const process = JoinedProcess();
  if (!IsShared(process)) return;
  Look(process, kSlotsOfALook);
  // The share stays: the process holds its memory until the kernel releases its lock, however long
  // that takes.
  Retire(process->region, static_cast<uint32_t>(process->slot));
}

namespace {
// Runs last, after the program's own exit handlers. A process that never joined takes no part.
[[gnu::destructor]] void LeaveAtExit() {
  Leave();
}
}  // namespace

Trouble WhyAlone() {
  const Process* const process = TheProcess();
  if (process == nullptr) return Trouble::kNoRoom;
  const bool known = process->standing.load(std::memory_order_acquire) != JoinState::kUnknown;
  return known ? process->trouble : Trouble::kNoLimits;
}

Region* TheRegion() {
  const Process* const process = TheProcess();
  if (process == nullptr) return nullptr;
  return HasAccounting(process->standing.load(std::memory_order_acquire)) ? process->region
                                                                          : nullptr;
}

int OwnSlot() {
  return TheRegion() == nullptr ? -1 : TheProcess()->slot;
}

}  // namespace tessera::limiter
