// SPDX-License-Identifier: Apache-2.0
// The driver's files on WSL and Tegra, where the driver is no ordinary set of libraries. Looks at
// files; any thread.
#pragma once

#include <string>

#include "backend/nvidia/cdi/driver_libraries.h"
#include "backend/nvidia/cdi/hooks.h"
#include "backend/nvidia/cdi/nodes.h"
#include "grant/cdi_document.h"

namespace tessera::nvidia {

// Ids of the one device that stands for all GPUs of such a node.
inline constexpr char kWsl[] = "all";
inline constexpr char kTegra[] = "tegra";

// Whether the device stands for all GPUs. The platform's lists and stores then name all files, and
// the search of other nodes is left out.
bool IsWholePlatform(const Device& device);

// Adds the files of the platform, if the device is one. On WSL these are in Windows' driver store;
// on Tegra the board's lists name them.
void AddPlatform(const Tree& tree, const std::string& device, const Nodes& nodes,
                 const Hooks& hooks, cdi::Edits& edits);

}  // namespace tessera::nvidia
