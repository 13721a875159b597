// SPDX-License-Identifier: Apache-2.0
// The steps in a container, besides mounts, by which programs find the driver. NVIDIA's hook
// program makes links to the libraries, the loader's list, and more. If the host lacks the program,
// mounts under all names replace the links. Pure but for FindHook; any thread.
#pragma once

#include <string>
#include <vector>

#include "backend/nvidia/cdi/driver_libraries.h"
#include "backend/nvidia/core/nvidia_config.h"
#include "grant/cdi_document.h"

namespace tessera::nvidia {

// The hook program's path on the host. A configured path is taken unchecked. Else it is looked for
// where its packages put it, if this process sees the host's root. Empty: not found.
std::string FindHook(const NvidiaConfig& config, const Tree* host);

class Hooks {
 public:
  Hooks(std::string program, std::vector<CdiPiece> left_out)
      : program_(std::move(program)), left_out_(std::move(left_out)) {}

  bool available() const { return !program_.empty() && !Without(CdiPiece::kHooks); }
  bool Without(CdiPiece piece) const;

  // Adds links in the container, each "TARGET::PATH". No hook if there are none.
  void AddLinks(const std::vector<std::string>& links, cdi::Edits& edits) const;
  // Adds the hooks for the driver's libraries, in the order of NVIDIA's toolkit.
  void AddFor(const DriverLibraries& libraries, cdi::Edits& edits) const;

 private:
  void Add(CdiPiece piece, const std::string& name, std::vector<std::string> args,
           cdi::Edits& edits) const;

  const std::string program_;
  const std::vector<CdiPiece> left_out_;
};

// Mounts the libraries under all their names in the distributions' default directories. Every
// loader looks there without its list.
void MountUnderAllNames(const Tree& tree, const DriverLibraries& libraries, cdi::Edits& edits);

// The mount options of a file to read and of a socket to connect to.
std::vector<std::string> ReadOptions();
std::vector<std::string> SocketOptions();

}  // namespace tessera::nvidia
