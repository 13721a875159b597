// SPDX-License-Identifier: Apache-2.0
// The memory that this container holds on its devices, over all of its processes, and whether it
// may hold more. Any thread, at any time. No call waits for another process, alive or dead.
//
// A forked child is another process: it holds nothing at first, and takes a slot of its own at its
// first call.
#pragma once

#include <cstdint>

#include "limiter/accounting/file.h"
#include "limiter/limits/limits.h"

namespace tessera::limiter {

enum class Kind : uint8_t { kData, kContext, kModule };

// Joins the container's region. False: this process has no part in it. Its limits then hold for it
// alone, or memory is denied; WhyAlone() gives the reason (file.h). Only the first call does work.
bool Join();

// Sentinel for a device that has no limit entry or cannot be identified. Allocations on it are
// refused.
inline constexpr int kDeniedDevice = kMaxDevices;

// The place of a device in the accounting, or kDeniedDevice; -1: the device is not limited. `uuid`
// is the driver's spelling; null: the driver does not report it.
//
// If the limits come from the environment, an unknown device takes the next free place. So name
// devices in NVML's order, which is that of the bus.
int DeviceOf(const char* uuid);
// Whether DeviceOf() would give the device a new place now.
bool WouldTakePlace(const char* uuid);
// True if the limits name their devices, so that one can be looked up without the others.
bool LimitsNameDevices();

// Reserves bytes on a device before the driver is called. False: the limit would be exceeded.
// Device -1 grants everything.
bool Reserve(int device, uint64_t bytes, Kind kind);
// Reserve() in two steps, for callers with a fallback. TryReserve() logs no refusal; Refuse() does,
// and always returns false.
bool TryReserve(int device, uint64_t bytes, Kind kind);
bool Refuse(int device, uint64_t bytes);
// SayManaged() logs that an allocation became managed memory for lack of room on the device.
// ShowManaged() changes the displayed managed part of this process's memory by `bytes`.
void SayManaged(int device, uint64_t bytes);
void ShowManaged(int device, int64_t bytes);
// Counts memory that is held already, past the limit if need be.
void Count(int device, uint64_t bytes, Kind kind);
// Undoes a reservation or a count: the memory was freed, or the driver refused it.
void Release(int device, uint64_t bytes, Kind kind);

// Bytes of the whole container; a limit of 0: none. If memory is denied, the limit is one byte.
uint64_t Used(int device);
uint64_t Limit(int device);

// Bytes that a context takes of a device, as measured by any process of the container; 0: not
// known. The smallest measure is kept, since other processes' allocations only add to it.
uint64_t ContextBytes(int device);
void NoteContextBytes(int device, uint64_t bytes);

// Percent of a device's time, and the policy that says when the limit holds; 0: no limit. After
// Join().
uint32_t Percent(int device);
CorePolicy Policy();

// True if allocations beyond the card's memory may become managed memory, up to the limit. After
// Join().
bool Oversubscribes();

// When a dead process was last found, in ns of the monotonic clock; and whether that was a moment
// ago. The kernel releases a dead process's lock before the driver frees its memory.
inline constexpr uint64_t kGivenBackAfter = 300'000'000;  // ns
uint64_t ReapedAt();
bool ReapedLately();

// Gives back the memory of dead processes, for callers that only read the accounting. At most once
// every tenth of a second.
void LookForTheDead();
// Gives back the memory of all dead processes, at once.
void ReapAll();

// Announces that this process is about to end. Its memory stays counted until it has ended, which
// the next search for dead processes finds.
void Leave();

// Why Join() returned false, or kNone; before Join(), kNoLimits.
Trouble WhyAlone();
// The region, for code that displays or limits other things in it. Null before Join() and if there
// is none; OwnSlot() is -1 then. A process that is alone has a private region.
Region* TheRegion();
int OwnSlot();

// Join() with other limits than TheLimits(). without_locks: as on a kernel without record locks of
// open descriptions.
bool JoinWith(const Limits& limits, bool without_locks = false);

}  // namespace tessera::limiter
