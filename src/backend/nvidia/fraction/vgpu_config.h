// SPDX-License-Identifier: Apache-2.0
// `nvidia: {vgpu: {}}`: how a resource's GPUs are divided into virtual ones, and where the limiter
// library is. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "backend/kind.h"
#include "backend/nvidia/core/nvidia_config.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"

namespace tessera::nvidia {

inline constexpr int64_t kMostVgpuMemory = 100'000'000;  // MiB: 100 TB

// The section that its keys belong to.
inline constexpr auto kVgpuConfig = [](auto& config, const config::At& at) -> auto& {
  return kKindConfig<NvidiaConfig>(config, at).vgpu;
};

config::Key VgpuKey();
// Completes the rules for grants, if the policy is `vgpu`.
void CompleteVgpu(config::Resource& resource);
// `path`: the resource's. `section`: that of its GPUs.
void CheckVgpu(const config::Resource& resource, const std::string& path,
               const std::string& section, config::Findings& findings);

}  // namespace tessera::nvidia
