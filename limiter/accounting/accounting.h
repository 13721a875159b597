// SPDX-License-Identifier: Apache-2.0
// What this container holds of its devices, over all of its processes, and whether it may hold
// more. Any thread, at any time; nothing here waits for another process, alive or dead.
//
// A forked child is another process: it begins with nothing, and takes a slot of its own at its
// first call.
#pragma once

#include <cstdint>

#include "limiter/accounting/file.h"
#include "limiter/limits/limits.h"

namespace tessera::limiter {

enum class Kind : uint8_t { kData, kContext, kModule };

// False: this process has no part in the container's region. Then its limits hold for it alone, or
// memory is denied (WhyAlone() tells; file.h). Once is enough; calls after the first cost nothing.
bool Join();

// Stands for a device that is none of those that the limits are of, or that cannot be told from
// others: it gets no memory.
inline constexpr int kDeniedDevice = kMaxDevices;

// The place of a device in the accounting, or kDeniedDevice; -1: it is not limited. `uuid` as the
// driver writes it; null: the driver does not tell. Where only the environment counts devices, one
// that nobody named takes the next place: name them in NVML's order, which is that of the bus.
int DeviceOf(const char* uuid);
// Whether DeviceOf() would give it the next place now.
bool WouldTakePlace(const char* uuid);
// The limits say which devices they are of, so that one may be looked up without the others.
bool LimitsNameDevices();

// Counts bytes on a device before the driver is asked for them. False: past the limit. On -1 all is
// granted.
bool Reserve(int device, uint64_t bytes, Kind kind);
// The same in two: for who has another way when there is no room, and says that it was refused when
// there is none (false, always). Reserve() says so by itself.
bool TryReserve(int device, uint64_t bytes, Kind kind);
bool Refuse(int device, uint64_t bytes);
// Says that so much is managed memory, for the device had no room for it. And shows, to who reads
// the region, that of what is counted so many bytes more are, or fewer.
void SayManaged(int device, uint64_t bytes);
void ShowManaged(int device, int64_t bytes);
// Counts what is held already, past the limit if need be.
void Count(int device, uint64_t bytes, Kind kind);
// What was reserved, and is not held any more, or never came to be.
void Release(int device, uint64_t bytes, Kind kind);

// Bytes of the whole container; a limit of 0: none. With memory denied the limit is one byte.
uint64_t Used(int device);
uint64_t Limit(int device);

// What a context takes of a device, as far as anybody in the container knows; 0: nobody does. Of
// several measures the smallest is kept: what others do meanwhile only adds.
uint64_t ContextBytes(int device);
void NoteContextBytes(int device, uint64_t bytes);

// Percent of a device's time, and when they hold; 0: no limit. After Join().
uint32_t Percent(int device);
CorePolicy Policy();

// Memory beyond what the card has may be managed memory, as far as the limit goes. After Join().
bool Oversubscribes();

// When a process died, as far as anybody noticed, in ns of the monotonic clock; and whether that
// was a moment ago: the driver gives its memory back later than the kernel its lock.
inline constexpr uint64_t kGivenBackAfter = 300'000'000;  // ns
uint64_t ReapedAt();
bool ReapedLately();

// Gives back what processes hold that died since the last look, for who only reads the accounting:
// at most every tenth of a second.
void LookForTheDead();
// Likewise, of all of them and at once.
void ReapAll();

// Says that this process has begun to end. What it holds stays counted until it has ended, which
// whoever looks next sees.
void Leave();

// Why Join() said false, or kNone; before that, kNoLimits.
Trouble WhyAlone();
// The region, for whoever shows or limits other things in it; null before Join() and when there is
// none. A process that is alone has one to itself. OwnSlot(): -1 likewise.
Region* TheRegion();
int OwnSlot();

// Join() with other limits than TheLimits(); without_locks: as on a kernel that has none for open
// files.
bool JoinWith(const Limits& limits, bool without_locks = false);

}  // namespace tessera::limiter
