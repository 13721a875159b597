// SPDX-License-Identifier: Apache-2.0
// How a process joins the container's region: which region, which slot, which limits. Any thread.
// The first one joins; the others wait for it on a lock of this process.
#pragma once

#include "limiter/accounting/process.h"

namespace tessera::limiter {

// `limits`: null for TheLimits().
JoinState JoinBy(const Limits* limits, bool without_locks, Process* process);

// Joins if this process has not.
inline JoinState JoinStateOf(Process* process) {
  if (process == nullptr) [[unlikely]]
    return JoinState::kDenied;
  const JoinState standing = process->standing.load(std::memory_order_acquire);
  if (standing == JoinState::kUnknown) [[unlikely]]
    return JoinBy(nullptr, false, process);
  return standing;
}

inline bool HasAccounting(JoinState standing) {
  return standing == JoinState::kShared || standing == JoinState::kAlone;
}

// The place of a device; takes a free one for a new device. -1: all are taken.
int PlaceOf(Region* region, const char* uuid, int places);

}  // namespace tessera::limiter
