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

json::Object TraitsJson(const DeviceTraits& traits) {
  json::Object object;
  if (!traits.pci_path.empty()) object["pciPath"] = traits.pci_path;
  if (traits.iommu_group) object["iommuGroup"] = *traits.iommu_group;
  return object;
}

DeviceTraits ReadTraits(const json::Object& object) {
  DeviceTraits traits;
  traits.pci_path = json::GetString(object, "pciPath").value_or("");
  if (const auto group = json::GetInt(object, "iommuGroup")) {
    traits.iommu_group = static_cast<int>(*group);
  }
  return traits;
}

}  // namespace tessera
