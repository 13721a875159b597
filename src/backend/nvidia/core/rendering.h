// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's container toolkit calls the things that containers get. Pure.
#pragma once

#include "backend/nvidia/core/nvidia_config.h"
#include "grant/grant.h"

namespace tessera::nvidia {

// Fills in the toolkit's names: the variable, unless it has one, the directory of mounts, and what
// comes beside the GPUs.
void CompleteRendering(const NvidiaConfig& config, Rendering& rendering);

}  // namespace tessera::nvidia
