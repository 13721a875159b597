// SPDX-License-Identifier: Apache-2.0
// What several devices have in total. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "device/device_list.h"

namespace tessera {

struct Capacity {
  int64_t memory = 0;                       // MiB
  std::map<std::string, int64_t> others{};  // by name, as DeviceTraits::capacities
  bool operator==(const Capacity&) const = default;
};

// The total of these devices, none of which may be the parent of another. Memory that parts of one
// parent share counts once.
Capacity TotalOf(const DeviceList& devices);

}  // namespace tessera
