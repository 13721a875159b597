// SPDX-License-Identifier: Apache-2.0
// What containers get of the driver on WSL and on a Tegra, where it is no package of libraries like
// others. Looks at files; any thread.
#pragma once

#include <string>

#include "backend/nvidia/cdi/driver_libraries.h"
#include "backend/nvidia/cdi/hooks.h"
#include "backend/nvidia/cdi/nodes.h"
#include "grant/cdi_document.h"

namespace tessera::nvidia {

// Ids of the device that all GPUs of such a node are.
inline constexpr char kWsl[] = "all";
inline constexpr char kTegra[] = "tegra";

// Whether it is such a device: of these the platform's own lists and stores name all, and nothing
// is looked for as on other nodes.
bool IsWholePlatform(const Device& device);

// Of WSL's what Windows has put into its store of drivers, of a Tegra's what the board's lists of
// files name; nothing of others.
void AddPlatform(const Tree& tree, const std::string& device, const Nodes& nodes,
                 const Hooks& hooks, cdi::Edits& edits);

}  // namespace tessera::nvidia
