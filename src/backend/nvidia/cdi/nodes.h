// SPDX-License-Identifier: Apache-2.0
// Device nodes for CDI documents, with their type, numbers and mode. Looks at files; any thread.
#pragma once

#include <string>
#include <vector>

#include "backend/nvidia/cdi/driver_libraries.h"
#include "backend/nvidia/cdi/hooks.h"
#include "backend/nvidia/core/nvidia_config.h"
#include "device/device.h"
#include "grant/cdi_document.h"
#include "os/files.h"

namespace tessera::nvidia {

class Nodes {
 public:
  Nodes(const os::Root& root, const NvidiaConfig& config);

  // Adds the node at this path, with the group that the container needs to open it, if any.
  void Add(const std::string& path, cdi::Edits& edits) const;
  // Adds the nodes in a directory of /dev that match a pattern with "*".
  void AddLike(const std::string& directory, const std::string& pattern, cdi::Edits& edits) const;
  // Adds the DRM nodes of the GPU at this bus address, and the links that name them by it.
  void AddDrm(const std::string& address, const Hooks& hooks, cdi::Edits& edits) const;
  bool Has(const std::string& path) const { return dev_.Has(dev_.Follow(path)); }

 private:
  const os::Root root_;
  const Tree dev_;  // its /dev has the host's devices
  const bool gids_;
};

}  // namespace tessera::nvidia
