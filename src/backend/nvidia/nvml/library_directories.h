// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace tessera::nvidia {

// The directories in which distributions have the driver's libraries. A Jetson has one of its own.
inline constexpr std::array<std::string_view, 9> kLibraryDirectories = {
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64/nvidia",
    "/usr/lib/x86_64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/nvidia"};

}  // namespace tessera::nvidia
