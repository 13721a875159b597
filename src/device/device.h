// SPDX-License-Identifier: Apache-2.0
// A device: one physical thing or hardware partition, as its backend found it. Everything a
// container needs to use it is in here, so that dividing, choosing and granting are pure functions.
// Plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/device_key.h"
#include "device/traits.h"

namespace tessera {

// A device node to hand into the container.
struct DeviceNode {
  std::string host_path;
  std::string container_path;
  std::string permissions = "rw";  // letters of "rwm": read, write, mknod
  bool operator==(const DeviceNode&) const = default;
};

// A bind mount to hand into the container.
struct Mount {
  std::string host_path;
  std::string container_path;
  bool read_only = true;
  bool operator==(const Mount&) const = default;
};

// How near a device is to another.
struct Link {
  std::string peer;      // the other's id
  int points = 0;        // how close they are; the more, the closer
  std::string source{};  // the other's; empty: the device's own
  bool operator==(const Link&) const = default;
};

struct Device {
  DeviceKey key;
  std::string model;            // for people: "dummy NPU", "tty"
  std::string address;          // where it is plugged in, for people: "0000:47:00.0"; or empty
  std::string visible_as;       // its name in the resource's visible-devices variable; never empty
  std::vector<int> numa_nodes;  // ascending; empty: unknown or near to all
  std::vector<Link> links;      // in natural order of the peers; empty: nothing is known
  int order = 0;                // containers see the devices of a source by this, then by id
  int64_t memory = 0;           // MiB; 0: unknown or unused
  std::string parent;           // what it is a part of, e.g. a GPU's id; empty: it is whole
  std::vector<DeviceNode> nodes;
  std::vector<Mount> mounts;
  TraitsOf traits;
  std::optional<Error> defect;  // set: it is there and cannot be read; never offered healthy
  bool present = true;          // false: it vanished while it may be in use (kept, Unhealthy)

  bool operator==(const Device&) const = default;
};

}  // namespace tessera
