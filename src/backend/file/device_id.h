// SPDX-License-Identifier: Apache-2.0
// The id of a device made of files. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace tessera::file {

inline constexpr size_t kMaxIdLength = 63;

// The path of the file that names the device, without "/dev/", with "-" for "/": "ttyUSB0",
// "serial-by-id-usb-FTDI_A6008isP-if00-port0", "srv-models-1". It depends on nothing but the path,
// so that no other device, and no other line of the configuration, can change it. Letters, digits
// and "._:-" only, at most kMaxIdLength; where characters were replaced or cut, a hash of the path
// keeps the id unique.
std::string DeviceId(std::string_view path);

}  // namespace tessera::file
