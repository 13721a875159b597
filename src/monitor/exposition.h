// SPDX-License-Identifier: Apache-2.0
// The monitor's metrics in Prometheus' text format (families.def; docs/reference/metrics.md). Pure;
// any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "monitor/snapshot.h"

namespace tessera::monitor {

enum class Group : uint8_t { kOwn, kHami, kLegacy };

struct FamilyInfo {
  Group group;
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::string_view labels;  // comma-separated
};
std::span<const FamilyInfo> AllFamilies();

// The page. `legacy`: with HAMi's older names. Each series is on it once, also if two pods had one
// name.
std::string Expose(const Snapshot& snapshot, Steady now, Wall wall_now, bool legacy);

}  // namespace tessera::monitor
