// SPDX-License-Identifier: Apache-2.0
// What whoever makes a pod should know, though it is admitted. API servers cut a warning after 256
// characters. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "webhook/review.h"
#include "webhook/rules.h"

namespace tessera::webhook {

// Of a pod of ours whose requests can be meant.
std::vector<std::string> WarningsFor(const NewPod& pod, const DeviceRules& rules,
                                     const MostDevices& most);

}  // namespace tessera::webhook
