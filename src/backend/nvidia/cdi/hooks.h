// SPDX-License-Identifier: Apache-2.0
// What has to be done in a container beside mounts, so that programs find the driver: links to its
// libraries, the loader's list of them, and more that NVIDIA's hook program does. Where the host
// does not have that program, mounts under all names stand for the links. Pure but for FindHook;
// any thread.
#pragma once

#include <string>
#include <vector>

#include "backend/nvidia/cdi/driver_libraries.h"
#include "backend/nvidia/core/nvidia_config.h"
#include "grant/cdi_document.h"

namespace tessera::nvidia {

// The hook program's path on the host: the configured one, whether it is there or not; else where
// its packages put it, as far as this process sees the host's root. Empty: there is none.
std::string FindHook(const NvidiaConfig& config, const Tree* host);

class Hooks {
 public:
  Hooks(std::string program, std::vector<CdiPiece> left_out)
      : program_(std::move(program)), left_out_(std::move(left_out)) {}

  bool available() const { return !program_.empty() && !Without(CdiPiece::kHooks); }
  bool Without(CdiPiece piece) const;

  // Links in the container, each "TARGET::PATH"; nothing where there are none.
  void AddLinks(const std::vector<std::string>& links, cdi::Edits& edits) const;
  // Those for the driver's libraries, in the order in which NVIDIA's toolkit has them.
  void AddFor(const DriverLibraries& libraries, cdi::Edits& edits) const;

 private:
  void Add(CdiPiece piece, const std::string& name, std::vector<std::string> args,
           cdi::Edits& edits) const;

  const std::string program_;
  const std::vector<CdiPiece> left_out_;
};

// The libraries under all their names where every loader looks without its list: in the default
// directories of distributions.
void MountUnderAllNames(const Tree& tree, const DriverLibraries& libraries, cdi::Edits& edits);

// Options of a mount that is read, and of one that is connected to.
std::vector<std::string> ReadOptions();
std::vector<std::string> SocketOptions();

}  // namespace tessera::nvidia
