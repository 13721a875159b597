// SPDX-License-Identifier: Apache-2.0
// What a scheduler writes on a pod whose devices it has chosen: the annotations by which a node's
// plugin finds its pod and what each of its containers gets. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "hami/vendor_table.h"
#include "kube/objects/members.h"
#include "placement/placement.h"

namespace tessera::hami {

// Who finds out on the node which container an allocation is for.
enum class FoundBy : uint8_t {
  kPlugin,  // a plugin, by the pod's phase; it takes what it hands out off a list
  kAgent,   // Tessera's agent, by kubelet's word: without phase and list, it need not write to the
            // pod
};

// `mode`: of the pod's devices, as its annotation has it.
kube::Texts PlacementAnnotations(const PodPlacement& placement, const ServedVendor& served,
                                 std::string_view mode, const std::string& node, FoundBy found_by,
                                 Wall now);

}  // namespace tessera::hami
