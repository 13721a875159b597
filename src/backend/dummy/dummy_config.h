// SPDX-License-Identifier: Apache-2.0
// What the configuration says about a dummy resource. Plain data.
#pragma once

#include <string>
#include <vector>

#include "device/device.h"

namespace tessera {

struct DummyConfig {
  int count = 64;
  int numa_nodes = 0;  // devices are spread evenly over that many nodes; 0: no NUMA information
  // Handed into the container for every granted device; "{id}" in a path is the device's id.
  std::vector<DeviceNode> nodes = {};
  std::vector<Mount> mounts = {};
  bool reset_before_start = false;  // PreStartContainer resets the devices
  // The faults of these devices, which are their hardware: kept across restarts of the agent.
  // Empty: <state dir>/dummy/<resource with / as _>.json.
  std::string fault_file = {};
  bool operator==(const DummyConfig&) const = default;
};

}  // namespace tessera
