// SPDX-License-Identifier: Apache-2.0
// How near devices are to each other on the PCI bus, by their paths there. Pure; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "device/device_list.h"

namespace tessera {

// What two functions have in common, as points of a Link: 60 one slot, 50 one switch, 40 several
// switches below one port of the root complex, 30 the root complex, 0 none of it, or one of the
// paths is empty.
int PciPoints(std::string_view a, std::string_view b);

// What is near to the device on the bus, of whatever sources, in the order of the devices.
std::vector<Link> PciLinks(const Device& device, const DeviceList& devices);

}  // namespace tessera
