// SPDX-License-Identifier: Apache-2.0
// The names that NVIDIA's container toolkit uses for grants. Pure.
#pragma once

#include "backend/nvidia/core/nvidia_config.h"
#include "grant/grant.h"

namespace tessera::nvidia {

// Fills in the toolkit's names: the variable, unless it is set, the directory of mounts, and the
// features' names.
void CompleteRendering(const NvidiaConfig& config, Rendering& rendering);

}  // namespace tessera::nvidia
