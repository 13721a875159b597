// SPDX-License-Identifier: Apache-2.0
// Parts of a device as JSON, for the pages and the state file. Pure; any thread.
#pragma once

#include <vector>

#include "device/device.h"
#include "json/json.h"

namespace tessera {

// [{"hostPath": "/dev/npu0", "containerPath": "/dev/npu0", "permissions": "rw"}]
json::Array NodesJson(const std::vector<DeviceNode>& nodes);
// [{"hostPath": "/a", "containerPath": "/b", "readOnly": true}]
json::Array MountsJson(const std::vector<Mount>& mounts);
// [{"source": "a.com/nic", "id": "7", "points": 50}]: without "source" for the device's own.
json::Array LinksJson(const std::vector<Link>& links);
// {"pciPath": "pci0000:40/0000:47:00.0", "iommuGroup": 57}: without what a device does not have.
json::Object TraitsJson(const DeviceTraits& traits);
DeviceTraits ReadTraits(const json::Object& object);

}  // namespace tessera
