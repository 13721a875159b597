// SPDX-License-Identifier: Apache-2.0
#include "hami/node_lock.h"

#include <fmt/core.h>

#include <utility>

#include "base/quote.h"
#include "base/text.h"
#include "hami/go_time.h"
#include "hami/names.h"

namespace tessera::hami {

Result<NodeLock> ReadNodeLock(std::string_view value) {
  std::vector<std::string> parts = Split(value, ',');
  if (parts.size() != 1 && parts.size() != 3) {
    return Fail(Reason::kInvalid, "{}: {} is not TIME,NAMESPACE,POD", kNodeLock, Brief(value));
  }
  const auto time = ParseRfc3339(parts[0]);
  if (!time) {
    return Fail(Reason::kInvalid, "{}: {} is not a time such as 2026-08-21T09:30:00Z", kNodeLock,
                Brief(parts[0]));
  }
  // A separate value: g++ 12 reports a shared one's owner as uninitialized.
  if (parts.size() == 1) return NodeLock{.time = *time};
  return NodeLock{.time = *time, .owner = LockOwner{std::move(parts[1]), std::move(parts[2])}};
}

std::string WriteNodeLock(const NodeLock& lock) {
  std::string value = FormatRfc3339(lock.time);
  if (lock.owner) value += fmt::format(",{},{}", lock.owner->pod_namespace, lock.owner->pod);
  return value;
}

bool IsLockOf(std::string_view value, const LockOwner& owner) {
  return value.ends_with(fmt::format(",{},{}", owner.pod_namespace, owner.pod));
}

}  // namespace tessera::hami
