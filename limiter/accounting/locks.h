// SPDX-License-Identifier: Apache-2.0
// Who is alive: the kernel's record locks, one byte a slot, far behind the file's end. A lock
// belongs to an open description, so it goes when the last mapping and descriptor of that
// description go: when its process ends, in whatever way, or executes another program.
//
// The owner keeps its lock by a mapping of the description that a forked child does not get, and
// without a descriptor, which programs close in bulk. Where the kernel has no such locks, a slot
// belongs to the process that its owner word names as long as that process runs.
#pragma once

#include <cstdint>

#include "limiter/accounting/file.h"

namespace tessera::limiter {

// This process, as owner words name it; never 0.
uint64_t OwnIdentity();
// Of another one; 0: there is none.
uint64_t IdentityOf(uint32_t pid);
// When the first process of this container started, or of the host where it has no processes of its
// own: ns of the monotonic clock, to 10 ms; 0: nobody says, or it was before the boot.
uint64_t ContainerBegan();

class Locks {
 public:
  // `identity` is this process's; `region` where owner words are. without_locks: as on an old
  // kernel.
  Locks(Region* region, uint64_t identity, bool without_locks)
      : region_(*region), identity_(identity), by_identity_(without_locks) {}
  ~Locks() { Close(); }
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

  // Of a descriptor that is this object's from now on.
  void Use(int file);
  bool usable() const { return file_ >= 0; }

  // True: the slot is ours alone, its former owner dead, if there was one. Never waits.
  bool Claim(uint32_t slot);
  void Drop(uint32_t slot);

  // What is claimed stays claimed until this process ends; the descriptor goes.
  bool Keep();

 private:
  void Close();
  bool SetLock(uint32_t slot, int type);
  bool ClaimByIdentity(uint32_t slot);

  Region& region_;
  const uint64_t identity_;
  bool by_identity_;
  int file_ = -1;
};

// In a child forked while a thread was in between taking a lock and keeping it.
void ForgetLocksOfParent();

}  // namespace tessera::limiter
