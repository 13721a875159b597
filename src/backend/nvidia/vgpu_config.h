// SPDX-License-Identifier: Apache-2.0
// `nvidia: {vgpu: {}}`: how a resource's GPUs are divided into virtual ones, and where the library
// is that holds containers to theirs. Pure.
#pragma once

#include <string>

#include "backend/nvidia/nvidia_config.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"

namespace tessera::nvidia {

config::Key VgpuKey();
// Where the policy is that of virtual GPUs: what their grants are made by.
void CompleteVgpu(config::Resource& resource);
// `path` is the resource's, `section` that of its GPUs.
void CheckVgpu(const config::Resource& resource, const std::string& path,
               const std::string& section, config::Findings& findings);

}  // namespace tessera::nvidia
