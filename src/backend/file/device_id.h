// SPDX-License-Identifier: Apache-2.0
// The id of a device made of files. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace tessera::file {

inline constexpr size_t kMaxIdLength = 63;

// The path of the file that names the device, without "/dev/" and with ":" for "/": "ttyUSB0",
// "dri:renderD128", "serial:by-id:usb-FTDI_A6008isP-if00-port0". It depends on the path alone, so
// no other device or line of the configuration can change it. It has letters, digits and "._:-"
// only, which CDI allows, and at most kMaxIdLength of them. If a character was replaced or cut, or
// the file is outside /dev, a hash of the path keeps the id unique.
std::string DeviceId(std::string_view path);

}  // namespace tessera::file
