// SPDX-License-Identifier: Apache-2.0
// Finds devices that cannot be virtual GPUs. Pure; any thread.
#pragma once

#include <optional>

#include "backend/nvidia/core/nvidia_config.h"
#include "base/error.h"
#include "device/device.h"

namespace tessera::nvidia {

// Why the device cannot be divided into virtual GPUs as configured, with the key that mends it. Its
// memory is unknown or less than the sum of `sizes`, or it is a MIG device. A grant of it would be
// refused, now or for the last of its parts. Null if the policy is another.
std::optional<Error> VgpuTrouble(const NvidiaConfig& config, const Device& device);

}  // namespace tessera::nvidia
