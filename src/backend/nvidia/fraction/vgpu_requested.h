// SPDX-License-Identifier: Apache-2.0
// `nvidia: {vgpu: {mode: requested}}`: virtual GPUs that are worth what their pods ask for, by the
// names that HAMi's webhook and scheduler know. Pure.
#pragma once

#include <string>
#include <vector>

#include "backend/nvidia/core/nvidia_config.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"

namespace tessera::nvidia {

// The mode itself.
config::Key VgpuModeKey();
// What is of use with it alone.
std::vector<config::Key> RequestedKeys();
// `path` is that of the resource's `vgpu`.
void CheckRequested(const config::Resource& resource, const std::string& path,
                    config::Findings& findings);

}  // namespace tessera::nvidia
