// SPDX-License-Identifier: Apache-2.0
// The driver's files for containers, besides libraries: programs, configuration, firmware, and its
// daemons' sockets. Names and places are those of NVIDIA's container toolkit. Looks at files; any
// thread.
#pragma once

#include <string>
#include <vector>

#include "backend/nvidia/cdi/driver_libraries.h"
#include "os/files.h"

namespace tessera::nvidia {

struct DriverFiles {
  DriverLibraries libraries{};
  std::vector<DriverFile> files{};    // to be read
  std::vector<DriverFile> sockets{};  // to be connected to
  bool operator==(const DriverFiles&) const = default;
};

// `root`: that of the kernel's files, /sys and /proc.
DriverFiles FindDriverFiles(const os::Root& root, const Tree& tree);

// The first of these names in the tree's directories of programs, as a path of the tree; empty:
// none.
std::string FindProgram(const Tree& tree, const std::string& name);

}  // namespace tessera::nvidia
