// SPDX-License-Identifier: Apache-2.0
// What CDI documents say of NVIDIA's devices: for every container the nodes that all GPUs share and
// the driver's files, for each device its own nodes; and the documents of what comes beside GPUs.
// Looks at files; any thread.
#pragma once

#include <string>
#include <vector>

#include "backend/nvidia/cdi/driver_files.h"
#include "backend/nvidia/core/nvidia_config.h"
#include "device/device.h"
#include "grant/cdi_document.h"
#include "os/files.h"

namespace tessera::nvidia {

// The driver's root as this process sees it, and where that is on the host.
Tree DriverTree(const os::Root& root, const NvidiaConfig& config);

// `files` are the driver's, below that.
cdi::Parts DescribeForCdi(const os::Root& root, const NvidiaConfig& config,
                          const DriverFiles& files, const std::vector<Device>& devices);

// What containers were to get beside their GPUs.
struct MissingFeature {
  std::string name{};    // as the configuration has it
  std::string nodes{};   // one of which is needed, on the host: "/dev/nvidia-fs*"
  std::string remedy{};  // what makes them
  bool operator==(const MissingFeature&) const = default;
};
// Features that the configuration asks for and `parts` have no document of, since no such node was
// there.
std::vector<MissingFeature> MissingFeatures(const NvidiaConfig& config, const cdi::Parts& parts);

}  // namespace tessera::nvidia
