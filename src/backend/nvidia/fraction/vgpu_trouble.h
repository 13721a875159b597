// SPDX-License-Identifier: Apache-2.0
// Pure; any thread.
#pragma once

#include <optional>

#include "backend/nvidia/core/nvidia_config.h"
#include "base/error.h"
#include "device/device.h"

namespace tessera::nvidia {

// Why the device cannot be divided into virtual GPUs as configured, and the key that mends it: its
// memory is not known, or is less than `sizes` give out, or it is a MIG device. Every grant of it
// would be refused, now or for the last of its parts. Nothing where the policy is another.
std::optional<Error> VgpuTrouble(const NvidiaConfig& config, const Device& device);

}  // namespace tessera::nvidia
