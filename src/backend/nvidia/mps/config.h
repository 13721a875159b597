// SPDX-License-Identifier: Apache-2.0
// `nvidia: {mps: {}}`: how MPS shares a resource's GPUs, and what containers get for it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "backend/nvidia/core/nvidia_config.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"

namespace tessera::nvidia {

// The most clients that MPS serves on a present GPU.
inline constexpr int kMostMpsClients = 48;

config::Key MpsKey();
// Completes the rules for grants, if the policy is MPS: containers get the daemon's sockets and
// memory.
void CompleteMps(config::Resource& resource);
// `path`: the resource's. `section`: that of its GPUs.
void CheckMps(const config::Resource& resource, const std::string& path, const std::string& section,
              config::Findings& findings);

// The directory of the resource's daemon, as our programs see it: "/run/nvidia/mps/nvidia.com/gpu".
// It has the directories "pipe" and "log".
std::string MpsDirectory(const NvidiaConfig::Mps& mps, std::string_view resource);

}  // namespace tessera::nvidia
