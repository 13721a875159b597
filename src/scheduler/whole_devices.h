// SPDX-License-Identifier: Apache-2.0
// Nodes whose plugin hands out whole devices and tells nobody which: NVIDIA's, or an agent that
// serves the same. Kubelet and kube-scheduler count them, and kubelet chooses. Pure; any thread.
#pragma once

#include <cstdint>

#include "hami/vendor.h"
#include "kube/objects/cluster_node.h"
#include "placement/device_choice.h"

namespace tessera::scheduler {

// How many such devices kubelet offers; 0 where the node has a plugin that registers devices, or
// had one: its resource counts shares.
int64_t WholeDevicesOf(const kube::ClusterNode& node, const hami::Vendor& vendor,
                       const RequestRules& rules);

// Whether a pod can have any of them: all of each device, whichever it is.
bool AsksForAnyWhole(const DeviceDemand& demand);

}  // namespace tessera::scheduler
