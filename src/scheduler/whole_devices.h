// SPDX-License-Identifier: Apache-2.0
// Nodes with a plugin that grants whole devices and publishes no ids: NVIDIA's, or an agent in its
// place. Kube-scheduler and kubelet count the devices, and kubelet chooses them. Pure. Any thread.
#pragma once

#include <cstdint>

#include "hami/vendor.h"
#include "kube/objects/cluster_node.h"
#include "placement/device_choice.h"

namespace tessera::scheduler {

// The number of such devices that kubelet offers. 0 if the node has or had a plugin that registers
// devices, since its resource counts shares.
int64_t WholeDevicesOf(const kube::ClusterNode& node, const hami::Vendor& vendor,
                       const RequestRules& rules);

// Whether any devices suit the pod: it requests all of each device and restricts none.
bool AsksForAnyWhole(const DeviceDemand& demand);

}  // namespace tessera::scheduler
