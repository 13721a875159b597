// SPDX-License-Identifier: Apache-2.0
// How near devices are to each other on the PCI bus, by their paths there. Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "device/device_list.h"

namespace tessera {

// Points of a Link, by the nearest part of the bus that two functions share:
//   60 a slot   50 a switch   40 a port of the root complex   30 the root complex   0 none
// 0 where a path is empty.
int PciPoints(std::string_view a, std::string_view b);

// So many of those that are near to one device are told of, the nearest.
inline constexpr size_t kMostPciLinks = 16;

// What is near to each device on the bus, of whatever sources, in the order of the devices.
std::vector<std::vector<Link>> PciLinks(const DeviceList& devices);

}  // namespace tessera
