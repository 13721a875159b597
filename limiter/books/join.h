// SPDX-License-Identifier: Apache-2.0
// How a process comes to have a part in the container's region, or to have none: which region,
// which slot, by which limits. Any thread; one of them does it, and the others wait for that.
#pragma once

#include "limiter/books/process.h"

namespace tessera::limiter {

// Null: TheLimits().
Standing JoinBy(const Limits* limits, bool without_locks, Process* process);

// Joins if this process did not.
inline Standing StandingOf(Process* process) {
  if (process == nullptr) [[unlikely]]
    return Standing::kDenied;
  const Standing standing = process->standing.load(std::memory_order_acquire);
  if (standing == Standing::kUnknown) [[unlikely]]
    return JoinBy(nullptr, false, process);
  return standing;
}

inline bool HasBooks(Standing standing) {
  return standing == Standing::kShared || standing == Standing::kAlone;
}

// The place of a device, taken if nobody named it yet; -1: all are.
int PlaceOf(Region* region, const char* uuid, int places);

}  // namespace tessera::limiter
