// SPDX-License-Identifier: Apache-2.0
// What the agent remembers across restarts: the inventory, the verdicts (good for one boot of the
// kernel) and the cordons (good until lifted). One JSON file, written whole. The functions are
// pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "health/health.h"
#include "share/share.h"

namespace tessera::agent {

// The version written; a file of a higher one comes from a newer agent.
inline constexpr int kStateVersion = 1;

struct SavedState {
  std::string boot_id;
  std::vector<Device> devices;
  std::map<DeviceKey, Verdict, DeviceKeyLess> verdicts;
  std::map<DeviceKey, Cordon, DeviceKeyLess> cordons;
  std::map<std::string, Policy> policies;  // by source: how its devices were divided last
  bool operator==(const SavedState&) const = default;
};

std::string WriteState(const SavedState& state);
// kStateNewer or kStateCorrupt when it cannot be used. A device or verdict that cannot be read is
// left out: it is verified anew.
Result<SavedState> ParseState(std::string_view text);

}  // namespace tessera::agent
