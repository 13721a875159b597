// SPDX-License-Identifier: Apache-2.0
// `nvidia: {select: []}` and `{exclude: []}`: which GPUs a resource is made of. Pure.
#pragma once

#include <string>
#include <vector>

#include "backend/nvidia/core/nvidia_config.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"

namespace tessera::nvidia {

std::vector<config::Key> SelectKeys();
// `section` is that of the resource's GPUs.
void CheckSelect(const NvidiaConfig& config, const std::string& section,
                 config::Findings& findings);

}  // namespace tessera::nvidia
