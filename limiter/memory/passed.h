// SPDX-License-Identifier: Apache-2.0
// Memory that this process handed to others, and what it has of theirs (accounting/lending.h). Only
// the card tells whether somebody still has what this process gives up: what is free of it is asked
// for before and after the driver's call. Any thread.
#pragma once

#include <cstdint>

#include "limiter/accounting/counters.h"
#include "limiter/driver/cuda.h"

namespace tessera::limiter {

// How memory may be had by others: by a descriptor, whoever has it; or only by a process that
// opened it and still runs.
enum class SharedBy : uint8_t { kDescriptor, kOpening };

// Of what is counted here, so much may be had by others from now on. Before the driver is asked.
void NoteExported(int place, uint64_t bytes);

// Around the driver's call that imports memory, whose size it does not tell; and once that is
// known. False: nobody of the container has it counted, so it is to be counted here.
void BeginImport(int place);
void EndImport(int place);
bool NoteImported(int place, uint64_t bytes);

// Around a driver's call that gives memory up: what is measured is the card as it stood when this
// was made. What else the call gave back is to be released in the accounting before it is asked.
// Several of a container may be under way at once, of which one sees what another one freed. So the
// last of them looks whether the card and the accounting agree again as they did before: what is
// lent, and too much, is free.
class MemoryRelease {
 public:
  // is_seen: the card is asked. What goes at a time that nobody knows may be had by others.
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
  // What this process had exported, and is no more counted for it: it is free, or lent.
  void GiveUp(uint64_t bytes, SharedBy by) const;
  // What it had imported, and was not counted here; 0: it was never known how large it is.
  void GiveBack(uint64_t bytes) const;

 private:
  void Begin();
  void End() const;
  bool CanTell() const;
  // Bytes that came to be free, beyond what the container gave back in its accounting by then.
  uint64_t Given(const TotalWord& now) const;
  bool TryGiveUp(const TotalWord& now, uint64_t bytes, SharedBy by) const;

  const int place_;
  CUdevice device_ = -1;
  uint64_t begun_ = 0;  // ns
  uint64_t free_ = 0;   // 0: nobody tells
  uint64_t used_ = 0;
};

// A pool gave back so much that others may have. Bytes of it that are lent, and not the pool's any
// more.
uint64_t LendOfPool(int place, uint64_t bytes);

}  // namespace tessera::limiter
