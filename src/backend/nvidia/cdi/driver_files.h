// SPDX-License-Identifier: Apache-2.0
// What a container gets of the driver beside its libraries: programs, configuration, firmware, and
// sockets of its daemons. Names and places are those of NVIDIA's container toolkit. Looks at files;
// any thread.
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

// `root`: where the kernel's own files are, /sys and /proc.
DriverFiles FindDriverFiles(const os::Root& root, const Tree& tree);

// The first of these names that there is in the directories where a root has its programs, as a
// path of the tree; empty: none.
std::string FindProgram(const Tree& tree, const std::string& name);

}  // namespace tessera::nvidia
