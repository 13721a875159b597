// SPDX-License-Identifier: Apache-2.0
// The command line of the plugin for shared RDMA devices, and what it has in common with that of
// the SR-IOV plugin. Pure; any thread.
#pragma once

#include <span>
#include <string>

#include "compat/go_flags/go_flags.h"

namespace tessera::config::rdma_shared {

std::span<const GoFlag> Flags();
inline constexpr char kFile[] = "/k8s-rdma-shared-dev-plugin/config.json";

// `words`: without the program's name. `flags`: those of either plugin.
GoCommandLine ParseFlags(std::span<const std::string> words,
                         std::span<const GoFlag> flags = Flags());

}  // namespace tessera::config::rdma_shared
