// SPDX-License-Identifier: Apache-2.0
// The content of NVIDIA's CDI documents. Every container gets the shared nodes and the driver's
// files; each device adds its own nodes. Features get documents of their own. Looks at files; any
// thread.
#pragma once

#include <string>
#include <vector>

#include "backend/nvidia/cdi/driver_files.h"
#include "backend/nvidia/core/nvidia_config.h"
#include "device/device.h"
#include "grant/cdi_document.h"
#include "os/files.h"

namespace tessera::nvidia {

// The driver's root, as this process sees it and on the host.
Tree DriverTree(const os::Root& root, const NvidiaConfig& config);

// `files`: the driver's, below DriverTree.
cdi::Parts DescribeForCdi(const os::Root& root, const NvidiaConfig& config,
                          const DriverFiles& files, const std::vector<Device>& devices);

// A configured feature that the node lacks.
struct MissingFeature {
  std::string name{};    // its name in the configuration
  std::string nodes{};   // on the host; one is needed: "/dev/nvidia-fs*"
  std::string remedy{};  // the advice that makes them
  bool operator==(const MissingFeature&) const = default;
};
// The configured features without a document in `parts`, as no such node exists.
std::vector<MissingFeature> MissingFeatures(const NvidiaConfig& config, const cdi::Parts& parts);

}  // namespace tessera::nvidia
