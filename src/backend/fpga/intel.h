// SPDX-License-Identifier: Apache-2.0
// Intel's cards by sysfs: the kernel's driver DFL (/sys/class/fpga_region) and OPAE's older one
// (/sys/class/fpga). A card has one management engine (FME) and ports. Each port has an accelerator
// function (AFU) in a region that can be programmed.
//
// The files are those of the kernel's ABI pages sysfs-platform-dfl-fme and -port. Any thread; reads
// sysfs.
#pragma once

#include <string>
#include <vector>

#include "backend/fpga/card.h"
#include "backend/fpga/fpga_config.h"
#include "os/files.h"

namespace tessera::fpga {

// The devices of a mode. Numbers of nodes and of classes are by the order in which drivers came up;
// the id is the PCI address of the card and the port's number on it. A port that a virtual function
// has is its card's as well.
std::vector<Card> ReadIntel(const os::Root& root, FpgaConfig::Mode mode);
// What changes with a card or a driver. Asks no hardware.
std::vector<std::string> TracesOfIntel(const os::Root& root);
// Whether a driver could make devices of a function of the node.
bool HasIntel(const os::Root& root);

}  // namespace tessera::fpga
