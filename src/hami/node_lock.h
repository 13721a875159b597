// SPDX-License-Identifier: Apache-2.0
// HAMi's lock of a node, the value of kNodeLock: held for one pod from its binding until the last
// of its containers has its devices. Pure; plain data; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace tessera::hami {

// HAMi's own; its scheduler can be told another one (--node-lock-timeout).
inline constexpr Duration kNodeLockTimeout = std::chrono::minutes(5);

struct LockOwner {
  std::string pod_namespace;
  std::string pod;
  bool operator==(const LockOwner&) const = default;
};

struct NodeLock {
  Wall time;                         // in whole seconds
  std::optional<LockOwner> owner{};  // none: of a release that wrote the time alone
  bool operator==(const NodeLock&) const = default;

  // Whether anybody may take it over.
  bool IsExpired(Wall now, Duration timeout) const { return now > time + timeout; }
};

// "2026-08-21T09:30:00Z,default,gpu-pod", or the time alone. kInvalid for other text: HAMi keeps
// nodes with such a lock locked until somebody removes it.
Result<NodeLock> ReadNodeLock(std::string_view value);
std::string WriteNodeLock(const NodeLock& lock);

// As HAMi tests it, by the value's end: whether or not the time can be read.
bool IsLockOf(std::string_view value, const LockOwner& owner);

}  // namespace tessera::hami
