// SPDX-License-Identifier: Apache-2.0
// The orders that a person may give on the agent's control socket: a path and a JSON object. Pure;
// any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/result.h"

namespace tessera::agent {

// POST /cordon, /uncordon: takes a device out, or puts it back.
struct CordonOrder {
  bool on = true;
  std::string device;
  std::string reason;  // never empty if `on`
  bool operator==(const CordonOrder&) const = default;
};

// POST /was-reset: a person reports a reset that the agent did not see.
struct ResetOrder {
  std::string device;
  bool operator==(const ResetOrder&) const = default;
};

// POST /release: closes the vendors' libraries for `time`; nothing: ends the release.
struct ReleaseOrder {
  std::optional<Duration> time;
  bool operator==(const ReleaseOrder&) const = default;
};

using Order = std::variant<CordonOrder, ResetOrder, ReleaseOrder>;

// kInvalid if the body is no JSON object or lacks a member that the order needs; kNotFound if there
// is no such path. Does not check that the device exists.
Result<Order> ReadOrder(std::string_view path, std::string_view body);

}  // namespace tessera::agent
