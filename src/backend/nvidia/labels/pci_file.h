// SPDX-License-Identifier: Apache-2.0
// What sysfs says of a device on the PCI bus. Nothing is cached; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/files.h"

namespace tessera::nvidia {

// The path of a file about the device of this address, "0000:07:00.0".
std::string PciFile(const os::Root& root, std::string_view address, std::string_view name);

// "0x030200": the number; nothing where the text is none.
std::optional<uint64_t> HexNumber(std::string_view text);
// What a file with such a number says; nothing where it is not there.
std::optional<uint64_t> ReadPciNumber(const os::Root& root, std::string_view address,
                                      std::string_view name);

// The addresses of NVIDIA's devices on the bus, in order.
std::vector<std::string> NvidiaAddresses(const os::Root& root);

}  // namespace tessera::nvidia
