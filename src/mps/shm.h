// SPDX-License-Identifier: Apache-2.0
// The memory that MPS and its clients share: a tmpfs that containers mount at /dev/shm.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::mps {

// The mount option for half of the node's memory, from the text of /proc/meminfo: "size=32940812k".
std::string ShmSize(std::string_view meminfo);

// Mounts the tmpfs there. An existing one stays, as running clients use it.
Status MountShm(const std::string& directory);

}  // namespace tessera::mps
