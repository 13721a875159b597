// SPDX-License-Identifier: Apache-2.0
// `nvidia: {mps: {}}`: how a resource's GPUs are shared by MPS, and what containers get by it.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "backend/nvidia/core/nvidia_config.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"

namespace tessera::nvidia {

// The most clients that MPS serves on a GPU of today.
inline constexpr int kMostMpsClients = 48;

config::Key MpsKey();
// Where the policy is MPS: what its containers get to reach the daemon.
void CompleteMps(config::Resource& resource);
// `path` is the resource's, `section` that of its GPUs.
void CheckMps(const config::Resource& resource, const std::string& path, const std::string& section,
              config::Findings& findings);

// The directory of the resource's daemon as programs of ours see it:
// "/run/nvidia/mps/nvidia.com/gpu". In it are the directories "pipe" and "log".
std::string MpsDirectory(const NvidiaConfig::Mps& mps, std::string_view resource);

}  // namespace tessera::nvidia
