// SPDX-License-Identifier: Apache-2.0
// A node's devices as candidates for a scheduler, from the agent's annotations
// Vendor::node_register and node_score. Pure; any thread.
#pragma once

#include <vector>

#include "base/result.h"
#include "hami/vendor.h"
#include "kube/objects/members.h"
#include "placement/candidate_device.h"

namespace tessera::hami {

// Empty if none are registered. kInvalid if the registration cannot be read. Unreadable links count
// as unknown.
Result<std::vector<CandidateDevice>> NodeDevicesOf(const kube::Texts& annotations,
                                                   const Vendor& vendor);

}  // namespace tessera::hami
