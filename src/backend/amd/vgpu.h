// SPDX-License-Identifier: Apache-2.0
// Virtual AMD GPUs (`policy: vgpu`): each container has compute units of its own, and an amount of
// memory. Names and formats are those of HAMi's plugin for AMD GPUs. Pure; any thread.
//
// - The ROCm runtime in the container keeps to the compute units that HSA_CU_MASK names. A program
//   that changes the variable undoes that.
// - HAMi's library libamvgpu.so keeps to the amount of memory, if the host has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/amd/amd_config.h"
#include "base/error.h"
#include "config/schema/config.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"
#include "device/device.h"
#include "grant/enforcer.h"

namespace tessera::amd {

// The capacity of a device that counts its compute units (DeviceTraits::capacities).
inline constexpr char kComputeUnits[] = "cu";

const Enforcer& CuMasks();

config::Key VgpuKey();
// Completes the rules for grants, if the policy is `vgpu`.
void CompleteVgpu(config::Resource& resource);
// `section`: the path of the kind's section. `index` is the resource's.
void CheckVgpu(const config::Config& config, size_t index, const std::string& section,
               config::Findings& findings);

// Why the device cannot be divided into virtual GPUs, if the policy is `vgpu`. `gfx_version`: as
// KfdNode has it.
std::optional<Error> VgpuTrouble(const AmdConfig& config, const Device& device,
                                 uint64_t gfx_version);

}  // namespace tessera::amd
