// SPDX-License-Identifier: Apache-2.0
// How near devices are to each other on the PCI bus, by their paths there. Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "device/device_list.h"

namespace tessera {

// The points of a Link, by the nearest part of the bus that both functions are below:
//   60 a slot   50 a switch   40 a port of the root complex   30 the root complex   0 none
// 0 if a path is empty.
int PciPoints(std::string_view a, std::string_view b);

// The most links of one device: those to its nearest devices.
inline constexpr size_t kMostPciLinks = 16;

// The links of each device, in the order of the devices. They cross sources.
std::vector<std::vector<Link>> PciLinks(const DeviceList& devices);

}  // namespace tessera
