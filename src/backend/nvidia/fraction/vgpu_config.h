// SPDX-License-Identifier: Apache-2.0
// `nvidia: {vgpu: {}}`: how a resource's GPUs are divided into virtual ones, and where the library
// is that holds containers to theirs. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "backend/kind.h"
#include "backend/nvidia/core/nvidia_config.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"

namespace tessera::nvidia {

inline constexpr int64_t kMostVgpuMemory = 100'000'000;  // MiB: 100 TB

// Where its keys live.
inline constexpr auto kVgpuConfig = [](auto& config, const config::At& at) -> auto& {
  return kKindConfig<NvidiaConfig>(config, at).vgpu;
};

config::Key VgpuKey();
// Where the policy is that of virtual GPUs: what their grants are made by.
void CompleteVgpu(config::Resource& resource);
// `path` is the resource's, `section` that of its GPUs.
void CheckVgpu(const config::Resource& resource, const std::string& path,
               const std::string& section, config::Findings& findings);

}  // namespace tessera::nvidia
