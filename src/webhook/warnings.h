// SPDX-License-Identifier: Apache-2.0
// Warnings for the creator of an admitted pod. API servers cut a warning after 256 characters.
// Pure. Any thread.
#pragma once

#include <string>
#include <vector>

#include "webhook/review.h"
#include "webhook/rules.h"

namespace tessera::webhook {

// For a pod of ours with valid requests.
std::vector<std::string> WarningsFor(const NewPod& pod, const DeviceRules& rules,
                                     const MostDevices& most);

}  // namespace tessera::webhook
