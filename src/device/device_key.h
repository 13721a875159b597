// SPDX-License-Identifier: Apache-2.0
// What a device is called. Plain data; any thread.
#pragma once

#include <string>

namespace tessera {

// A device's name on this node: ids are unique only within the source that found them.
struct DeviceKey {
  std::string source;  // the configured resource whose backend found it, e.g. "dummy.com/npu"
  std::string id;      // stable across restarts, reboots and renumbering, e.g. "7"

  std::string Text() const { return source + "/" + id; }
  bool operator==(const DeviceKey&) const = default;
};

// Natural order of source, then id.
struct DeviceKeyLess {
  bool operator()(const DeviceKey& a, const DeviceKey& b) const;
};

}  // namespace tessera
