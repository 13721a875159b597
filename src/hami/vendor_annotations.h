// SPDX-License-Identifier: Apache-2.0
// The annotations that a scheduler writes on a placed pod. From them the node's plugin finds its
// pod and its containers' devices. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "hami/vendor_table.h"
#include "kube/objects/members.h"
#include "placement/placement.h"

namespace tessera::hami {

// The party that finds the container of an allocation on the node.
enum class FoundBy : uint8_t {
  kPlugin,  // a plugin, by the pod's phase; it removes granted devices from a list
  kAgent,   // Tessera's agent, by kubelet's checkpoint; it needs no phase and no list
};

// `mode`: the mode that the pod's annotation asks for.
kube::Texts PlacementAnnotations(const PodPlacement& placement, const ServedVendor& served,
                                 std::string_view mode, const std::string& node, FoundBy found_by,
                                 Wall now);

}  // namespace tessera::hami
