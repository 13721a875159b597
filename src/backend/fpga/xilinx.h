// SPDX-License-Identifier: Apache-2.0
// Cards of Xilinx and AMD by sysfs, as XRT's drivers xocl and xclmgmt make it. A card has two PCI
// functions: one for users, and one to manage it, which a virtual machine may lack. A U30 has two
// such pairs with one serial number. Any thread; reads sysfs.
#pragma once

#include <string>
#include <vector>

#include "backend/fpga/card.h"
#include "os/files.h"

namespace tessera::fpga {

// A card that is still loading its shell is in trouble, and alone.
std::vector<Card> ReadXilinx(const os::Root& root);
// What changes with a card, its shell or a driver. Asks no hardware.
std::vector<std::string> TracesOfXilinx(const os::Root& root);
// Whether a driver could make devices of a function of the node.
bool HasXilinx(const os::Root& root);

}  // namespace tessera::fpga
