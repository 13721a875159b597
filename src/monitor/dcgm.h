// SPDX-License-Identifier: Apache-2.0
// The part of DCGM exporter's metrics that the driver's management library knows, by DCGM's names
// and labels, for dashboards and rules that select on them. Containers that share a device have
// their own DCGM_FI_DEV_GPU_UTIL and DCGM_FI_DEV_FB_USED. Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "monitor/snapshot.h"

namespace tessera::monitor {

std::string ExposeDcgm(const Snapshot& snapshot);

struct DcgmField {
  std::string_view name;  // "DCGM_FI_DEV_GPU_UTIL"
  std::string_view type;
  std::string_view help;
  std::optional<double> (*value)(const DeviceSample& sample);
};
std::span<const DcgmField> DcgmFields();

}  // namespace tessera::monitor
