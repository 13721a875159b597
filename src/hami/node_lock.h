// SPDX-License-Identifier: Apache-2.0
// HAMi's node lock, the value of kNodeLock. It is held for one pod, from its binding until its last
// container has its devices. Pure; plain data; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace tessera::hami {

// HAMi's default; its scheduler's --node-lock-timeout can change it.
inline constexpr Duration kNodeLockTimeout = std::chrono::minutes(5);

struct LockOwner {
  std::string pod_namespace;
  std::string pod;
  bool operator==(const LockOwner&) const = default;
};

struct NodeLock {
  Wall time;                         // whole seconds
  std::optional<LockOwner> owner{};  // nothing: an old release wrote only the time
  bool operator==(const NodeLock&) const = default;

  // True if another pod may take it over.
  bool IsExpired(Wall now, Duration timeout) const { return now > time + timeout; }
};

// "2026-08-21T09:30:00Z,default,gpu-pod", or the time alone. kInvalid for other text: HAMi keeps
// such a node locked until a person removes the annotation.
Result<NodeLock> ReadNodeLock(std::string_view value);
std::string WriteNodeLock(const NodeLock& lock);

// Tests the value's end, like HAMi, so it does not need a readable time.
bool IsLockOf(std::string_view value, const LockOwner& owner);

}  // namespace tessera::hami
