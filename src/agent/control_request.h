// SPDX-License-Identifier: Apache-2.0
// What a person may ask of the agent on its control socket, as a path and a JSON object say it.
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/result.h"

namespace tessera::agent {

// POST /cordon, /uncordon: to take a device out, or to put it back.
struct CordonOrder {
  bool on = true;
  std::string device;
  std::string reason;  // never empty when it is on
  bool operator==(const CordonOrder&) const = default;
};

// POST /was-reset: of a device that was reset where the agent did not see it, a person says so.
struct ResetOrder {
  std::string device;
  bool operator==(const ResetOrder&) const = default;
};

// POST /release: to let go of the vendors' libraries for so long; nothing: to end that.
struct ReleaseOrder {
  std::optional<Duration> time;
  bool operator==(const ReleaseOrder&) const = default;
};

using Order = std::variant<CordonOrder, ResetOrder, ReleaseOrder>;

// kInvalid when the body is no JSON object or lacks what the order needs, kNotFound when there is
// no such path. Whether there is such a device is not looked at.
Result<Order> ReadOrder(std::string_view path, std::string_view body);

}  // namespace tessera::agent
