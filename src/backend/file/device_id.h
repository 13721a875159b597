// SPDX-License-Identifier: Apache-2.0
// The id of a device made of files. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace tessera::file {

inline constexpr size_t kMaxIdLength = 63;

// The path of the file that names the device, without "/dev/", with ":" for "/": "ttyUSB0",
// "dri:renderD128", "serial:by-id:usb-FTDI_A6008isP-if00-port0". It depends on nothing but the
// path, so that no other device, and no other line of the configuration, can change it. Letters,
// digits and "._:-" only (all that a CDI device name may have), at most kMaxIdLength. Where
// something else was replaced or cut, and for files outside /dev, a hash of the path keeps the id
// unique.
std::string DeviceId(std::string_view path);

}  // namespace tessera::file
