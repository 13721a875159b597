// SPDX-License-Identifier: Apache-2.0
// Memory that this process exported, and its imports of others' memory (accounting/lending.h). Only
// the card shows whether another process still holds memory that this one gives up. So the card's
// free memory is read before and after the driver's call. Any thread.
#pragma once

#include <cstdint>

#include "limiter/accounting/counters.h"
#include "limiter/driver/cuda.h"

namespace tessera::limiter {

// How others may hold memory: by a descriptor, in any process; or only as a living process that
// opened it.
enum class SharedBy : uint8_t { kDescriptor, kOpening };

// Marks bytes that are counted here as exported. Call it before the driver.
void NoteExported(int place, uint64_t bytes);

// Around the driver's import call, whose size is unknown until it returns. NoteImported() takes the
// size. False: no process of the container is charged for the memory, so the caller must count it.
void BeginImport(int place);
void EndImport(int place);
bool NoteImported(int place, uint64_t bytes);

// Around a driver call that gives up shared memory. Free memory is measured from this object's
// construction. Other memory that the call frees must be released in the accounting before the
// measurement.
//
// Several releases of a container may overlap, and one then sees memory that another one freed. So
// the last of them compares card and accounting with their former balance, and releases memory that
// was lent in excess.
class MemoryRelease {
 public:
  // is_seen: the card is measured. Memory that goes at an unknown time may still be held by others.
  explicit MemoryRelease(int place, bool is_seen = true) : place_(place) {
    if (place >= 0 && is_seen) [[unlikely]]
      Begin();
  }
  ~MemoryRelease() {
    if (free_ != 0) [[unlikely]]
      End();
  }
  MemoryRelease(const MemoryRelease&) = delete;
  MemoryRelease& operator=(const MemoryRelease&) = delete;

  int place() const { return place_; }
  // Uncounts exported memory of this process: it is freed, or lent.
  void GiveUp(uint64_t bytes, SharedBy by) const;
  // Ends an import that was not counted here; 0: of unknown size.
  void GiveBack(uint64_t bytes) const;

 private:
  void Begin();
  void End() const;
  bool CanTell() const;
  // Bytes that came free on the card, beyond those that the container released in its accounting.
  uint64_t Given(const TotalWord& now) const;
  bool TryGiveUp(const TotalWord& now, uint64_t bytes, SharedBy by) const;

  const int place_;
  CUdevice device_ = -1;
  uint64_t begun_ = 0;  // ns
  uint64_t free_ = 0;   // 0: not known
  uint64_t used_ = 0;
};

// A pool that others may hold gave back `bytes`. Returns the bytes of them that are now lent and no
// longer the pool's.
uint64_t LendOfPool(int place, uint64_t bytes);

}  // namespace tessera::limiter
