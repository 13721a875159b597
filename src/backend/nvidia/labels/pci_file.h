// SPDX-License-Identifier: Apache-2.0
// Reads sysfs files of PCI devices. Nothing is cached; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/files.h"

namespace tessera::nvidia {

// The path of a file of the device with this address, "0000:07:00.0".
std::string PciFile(const os::Root& root, std::string_view address, std::string_view name);

// Parses a number like "0x030200"; null: not a number.
std::optional<uint64_t> HexNumber(std::string_view text);
// Reads a file with such a number; null: there is no such file.
std::optional<uint64_t> ReadPciNumber(const os::Root& root, std::string_view address,
                                      std::string_view name);

// The addresses of NVIDIA's devices on the bus, in order.
std::vector<std::string> NvidiaAddresses(const os::Root& root);

}  // namespace tessera::nvidia
