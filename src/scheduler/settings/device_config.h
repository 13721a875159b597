// SPDX-License-Identifier: Apache-2.0
// HAMi's device-config.yaml: what it says of NVIDIA's GPUs and of other vendors (vendor_blocks.h).
// A vendor is there where its block is. What is
// for device plugins alone is nothing to the scheduler. Any thread.
#pragma once

#include <string>
#include <vector>

#include "config/schema/problem.h"
#include "config/schema/yaml.h"
#include "scheduler/settings/own_file.h"

namespace tessera::scheduler {

// By its shape: it has a block of NVIDIA's or of another of HAMi's vendors, and no version of ours.
bool IsDeviceConfig(const config::Document& document);

struct DeviceConfig {
  std::vector<config::Problem> errors{};
  std::vector<config::Problem> warnings{};
};
// A value that HAMi goes on with and that is out of range here has no effect, and is told, as with
// the agent: the file is theirs too.
DeviceConfig ReadDeviceConfig(const config::Document& document, Settings& settings,
                              SourcesByKey& sources);

}  // namespace tessera::scheduler
