// SPDX-License-Identifier: Apache-2.0
// The devices of a node as a scheduler chooses among them, by the annotations that its agent
// writes: Vendor::node_register and node_score. Pure; any thread.
#pragma once

#include <vector>

#include "base/result.h"
#include "hami/vendor.h"
#include "kube/objects/members.h"
#include "placement/candidate_device.h"

namespace tessera::hami {

// None where none are registered. kInvalid where the registration cannot be read. Links that
// cannot be read are not known.
Result<std::vector<CandidateDevice>> NodeDevicesOf(const kube::Texts& annotations,
                                                   const Vendor& vendor);

}  // namespace tessera::hami
