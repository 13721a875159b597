// SPDX-License-Identifier: Apache-2.0
// Which slots have a living owner: record locks of the kernel, one byte a slot, far behind the
// file's end. A lock belongs to an open description. The kernel releases it with the last mapping
// and descriptor of that description. That happens when the process ends, in any way, or executes
// another program.
//
// The owner keeps its lock by a mapping of the description, which a forked child does not inherit.
// It keeps no descriptor, since programs close those in bulk. On a kernel without such locks, a
// slot belongs to the process that its owner word names, as long as that process runs.
#pragma once

#include <cstdint>

#include "limiter/accounting/file.h"

namespace tessera::limiter {

// This process, as owner words name it; never 0.
uint64_t OwnIdentity();
// Another process; 0: there is no such process.
uint64_t IdentityOf(uint32_t pid);
// Start of the container's first process; with the host's process ids, of the host's first. In ns
// of the monotonic clock, to 10 ms. 0: not known, or before the boot.
uint64_t ContainerBegan();

class Locks {
 public:
  // `identity`: this process. `region`: where the owner words are. without_locks: as on a kernel
  // without such locks.
  Locks(Region* region, uint64_t identity, bool without_locks)
      : region_(*region), identity_(identity), by_identity_(without_locks) {}
  ~Locks() { Close(); }
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

  // Uses a descriptor, which this object owns from now on.
  void Use(int file);
  bool usable() const { return file_ >= 0; }

  // True: the slot is this process's alone, and its former owner is dead, if there was one. Never
  // waits.
  bool Claim(uint32_t slot);
  void Drop(uint32_t slot);

  // Keeps claimed slots until this process ends. The descriptor may then be closed.
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

// For a forked child: drops what it inherited if its parent was between Use() and Keep().
void ForgetLocksOfParent();

}  // namespace tessera::limiter
