// SPDX-License-Identifier: Apache-2.0
// What sysfs says of a device node. Caches nothing. Any thread.
#pragma once

#include <optional>
#include <string>

#include "os/files.h"

namespace tessera::file {

bool IsDeviceNode(os::FileInfo::Type type);

// The NUMA node of the hardware behind a device node: of the nearest parent in sysfs that has one,
// as that of a serial port is known from its USB controller.
std::optional<int> NumaNode(const os::Root& root, const os::FileInfo& node);

// The sysfs directory of the hardware behind the node ("/sys/devices/..."); empty if sysfs names
// none.
std::string HardwareOf(const os::Root& root, const os::FileInfo& node);

// The kernel's subsystem of the node ("tty", "video4linux"); empty if sysfs names none.
std::string SubsystemOf(const os::Root& root, const os::FileInfo& node);

}  // namespace tessera::file
