// SPDX-License-Identifier: Apache-2.0
#include "node/device_json.h"

namespace tessera {

json::Array NodesJson(const std::vector<DeviceNode>& nodes) {
  json::Array array;
  for (const DeviceNode& node : nodes) {
    array.push_back(json::Object{{"hostPath", node.host_path},
                                 {"containerPath", node.container_path},
                                 {"permissions", node.permissions}});
  }
  return array;
}

json::Array MountsJson(const std::vector<Mount>& mounts) {
  json::Array array;
  for (const Mount& mount : mounts) {
    array.push_back(json::Object{{"hostPath", mount.host_path},
                                 {"containerPath", mount.container_path},
                                 {"readOnly", mount.read_only}});
  }
  return array;
}

}  // namespace tessera
