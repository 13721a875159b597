// SPDX-License-Identifier: Apache-2.0
#include "kubelet/embedded/allocate_response.h"

#include "proto/deviceplugin/deviceplugin.pb.h"

namespace tessera::kubelet::embedded {

Grant ReadAllocateResponse(const std::string& serialized) {
  Grant grant;
  v1beta1::ContainerAllocateResponse response;
  if (!response.ParseFromString(serialized)) return grant;
  grant.envs.insert(response.envs().begin(), response.envs().end());
  for (const auto& mount : response.mounts()) {
    grant.mounts.push_back({mount.host_path(), mount.container_path(), mount.read_only()});
  }
  for (const auto& device : response.devices()) {
    grant.devices.push_back({device.host_path(), device.container_path(), device.permissions()});
  }
  grant.annotations.insert(response.annotations().begin(), response.annotations().end());
  for (const auto& device : response.cdi_devices()) grant.cdi_devices.push_back(device.name());
  return grant;
}

}  // namespace tessera::kubelet::embedded
