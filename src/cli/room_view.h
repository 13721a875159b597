// SPDX-License-Identifier: Apache-2.0
// Each GPU's memory and compute time: how much is granted and free, and each holder's part. Pure;
// any thread.
#pragma once

#include <string>

#include "cli/command/layout.h"
#include "json/json.h"

namespace tessera::cli {

// The table from GET /inventory. Devices with unknown memory are left out. Empty: no device is
// left.
std::string RoomText(const json::Object& inventory, const View& view);

// "2048 MiB", "1.5 MiB".
std::string MibText(uint64_t bytes);
// A container's limit in percent of a GPU's time; "all": no limit.
std::string PercentText(int64_t percent);
// The compute time of a grant's part: percent, or units.
std::string CoresText(const json::Object& part);

}  // namespace tessera::cli
