// SPDX-License-Identifier: Apache-2.0
// Reads HAMi's device-config.yaml: the settings of NVIDIA's GPUs and of other vendors
// (vendor_blocks.h). A vendor is placed if the file has its block. Keys for device plugins are
// ignored. Any thread.
#pragma once

#include <string>
#include <vector>

#include "config/schema/problem.h"
#include "config/schema/yaml.h"
#include "scheduler/settings/own_file.h"

namespace tessera::scheduler {

// By its shape: the file has a block of NVIDIA or another HAMi vendor, and no version key of ours.
bool IsDeviceConfig(const config::Document& document);

struct DeviceConfig {
  std::vector<config::Problem> errors{};
  std::vector<config::Problem> warnings{};
};
// Values that HAMi accepts but that are out of range here are ignored with a warning, as in the
// agent. The file also belongs to HAMi's programs.
DeviceConfig ReadDeviceConfig(const config::Document& document, Settings& settings,
                              SourcesByKey& sources);

}  // namespace tessera::scheduler
