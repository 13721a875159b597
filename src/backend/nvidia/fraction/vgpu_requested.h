// SPDX-License-Identifier: Apache-2.0
// `nvidia: {vgpu: {mode: requested}}`: each pod asks for the size of its virtual GPUs. The names
// are those of HAMi's webhook and scheduler. Pure.
#pragma once

#include <string>
#include <vector>

#include "backend/nvidia/core/nvidia_config.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"

namespace tessera::nvidia {

// The key of the mode itself.
config::Key VgpuModeKey();
// The keys that have an effect only in this mode.
std::vector<config::Key> RequestedKeys();
// `path`: that of the resource's `vgpu`.
void CheckRequested(const config::Resource& resource, const std::string& path,
                    config::Findings& findings);

}  // namespace tessera::nvidia
