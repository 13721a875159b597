// SPDX-License-Identifier: Apache-2.0
// The names of our sockets in kubelet's directories. Pure but for the random part; any thread.
#pragma once

#include <string>
#include <string_view>

namespace tessera::kubelet {

// DIRECTORY/PREFIX-RESOURCE-RANDOM.sock: a path that tells a person whose socket it is, and that no
// process ever had before. Of a long resource name the end is kept, as far as a socket's path has
// room (os::kMaxSocketPath).
std::string NewSocketPath(const std::string& directory, std::string_view prefix,
                          std::string_view resource);

// Whether a file of this name may have been made by NewSocketPath with this prefix. One that begins
// with this prefix and a hyphen cannot be told from it; only sockets that nobody listens on are
// ever removed for their names.
bool IsSocketName(std::string_view name, std::string_view prefix);

}  // namespace tessera::kubelet
