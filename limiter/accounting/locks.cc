// SPDX-License-Identifier: Apache-2.0
#include "limiter/accounting/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "limiter/accounting/ticks.h"
#include "limiter/limits/text.h"

#ifndef F_OFD_SETLK
#define F_OFD_SETLK 37
#endif

namespace tessera::limiter {
namespace {

// The descriptor and the mapping that a child would inherit if its parent forked right now. A child
// that kept them would hold the parent's lock after the parent's death.
constinit std::atomic<int> descriptor{-1};
constinit std::atomic<void*> mapping{nullptr};
constexpr size_t kPage = 4096;

// A process's start time, field 22 of its status line. The name before it may contain blanks and
// brackets.
bool StartOf(const char* path, uint64_t* start) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char line[1024];
  const ssize_t got = read(file, line, sizeof(line));
  close(file);
  Text rest(line, got > 0 ? static_cast<size_t>(got) : 0);
  for (size_t end = rest.Find(')'); end < rest.size; end = rest.Find(')'))
    rest = rest.From(end + 1);
  for (int field = 2; field < 22; ++field) Cut(&rest, ' ');
  return ParseDecimal(Cut(&rest, ' '), UINT64_MAX, start);
}

uint64_t Identity(uint64_t pid, uint64_t start) {
  return pid | start << 32;
}

}  // namespace

uint64_t IdentityOf(uint32_t pid) {
  char path[32];
  uint64_t start = 0;
  snprintf(path, sizeof(path), "/proc/%u/stat", pid);
  return StartOf(path, &start) ? Identity(pid, start) : 0;
}

uint64_t OwnIdentity() {
  uint64_t start = 0;
  StartOf("/proc/self/stat", &start);
  return Identity(static_cast<uint32_t>(getpid()), start);
}

uint64_t ContainerBegan() {
  constexpr uint64_t kTick = 10'000'000;  // ns; the tick of /proc, always
  uint64_t start = 0;
  timespec boot;
  if (!StartOf("/proc/1/stat", &start) || clock_gettime(CLOCK_BOOTTIME, &boot) != 0) return 0;
  const uint64_t since_boot =
      static_cast<uint64_t>(boot.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(boot.tv_nsec);
  const uint64_t slept = since_boot - Now();
  return start * kTick > slept ? start * kTick - slept : 0;
}

void Locks::Use(int file) {
  file_ = file;
  int none = -1;
  descriptor.compare_exchange_strong(none, file, std::memory_order_relaxed);
}

bool Locks::SetLock(uint32_t slot, int type) {
  struct flock lock;
  memset(&lock, 0, sizeof(lock));
  lock.l_type = static_cast<short>(type);
  lock.l_whence = SEEK_SET;
  lock.l_start = kLocks + slot;
  lock.l_len = 1;
  return fcntl(file_, F_OFD_SETLK, &lock) == 0;
}

bool Locks::Claim(uint32_t slot) {
  if (by_identity_) return ClaimByIdentity(slot);
  if (SetLock(slot, F_WRLCK)) return true;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP && errno != ENOLCK) return false;
  by_identity_ = true;
  return ClaimByIdentity(slot);
}

bool Locks::ClaimByIdentity(uint32_t slot) {
  uint64_t* const owner = &region_.accounting.slots[slot].owner;
  uint64_t seen = __atomic_load_n(owner, __ATOMIC_ACQUIRE);
  // Our own identity: this process claimed the slot before it executed another program.
  const bool dead =
      seen == 0 || seen == identity_ || IdentityOf(static_cast<uint32_t>(seen)) != seen;
  return dead && __atomic_compare_exchange_n(owner, &seen, identity_, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_RELAXED);
}

void Locks::Drop(uint32_t slot) {
  // The owner word goes first: after the unlock another process may claim the slot and write its
  // own.
  __atomic_store_n(&region_.accounting.slots[slot].owner, 0, __ATOMIC_RELEASE);
  if (!by_identity_) SetLock(slot, F_UNLCK);
}

bool Locks::Keep() {
  if (by_identity_) return true;
  void* const page = mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file_, 0);
  if (page == MAP_FAILED) return false;
  // A fork between mmap and madvise gives the child this mapping; ForgetLocksOfParent() unmaps it
  // there.
  mapping.store(page, std::memory_order_relaxed);
  const bool kept = madvise(page, kPage, MADV_DONTFORK) == 0;
  mapping.store(nullptr, std::memory_order_relaxed);
  if (!kept) munmap(page, kPage);
  return kept;
}

void Locks::Close() {
  if (file_ < 0) return;
  int own = file_;
  descriptor.compare_exchange_strong(own, -1, std::memory_order_relaxed);
  close(file_);
  file_ = -1;
}

void ForgetLocksOfParent() {
  const int file = descriptor.exchange(-1, std::memory_order_relaxed);
  if (file >= 0) close(file);
  void* const page = mapping.exchange(nullptr, std::memory_order_relaxed);
  if (page != nullptr) munmap(page, kPage);
}

}  // namespace tessera::limiter
