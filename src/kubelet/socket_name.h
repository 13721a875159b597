// SPDX-License-Identifier: Apache-2.0
// The names of our sockets in kubelet's directories. Pure except for the random part; any thread.
#pragma once

#include <string>
#include <string_view>

namespace tessera::kubelet {

// DIRECTORY/PREFIX-RESOURCE-RANDOM.sock: a path that names its owner, and that no process has used
// before. A long resource name loses its beginning, to fit os::kMaxSocketPath.
std::string NewSocketPath(const std::string& directory, std::string_view prefix,
                          std::string_view resource);

// True if NewSocketPath may have made this name with this prefix. A longer prefix that begins with
// this one and a hyphen looks the same. That is safe: only sockets without a listener are removed
// for their names.
bool IsSocketName(std::string_view name, std::string_view prefix);

}  // namespace tessera::kubelet
