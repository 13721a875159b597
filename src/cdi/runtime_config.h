// SPDX-License-Identifier: Apache-2.0
// What a container runtime's configuration says of CDI. Only this folder's .cc file includes the
// TOML library. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "os/files.h"

namespace tessera {

enum class Says : uint8_t { kNothing, kNo, kYes };

// Reads containerd's configuration at `path` with the files that it imports. kNothing: it cannot be
// read, or its containerd has no CRI plugin. Files merge as in containerd: the file itself, its
// imports in order, then their imports. The last setting counts. An import that cannot be read
// could revoke a yes: then only a no counts, and the log says so. A format newer than the newest
// known counts as that one.
Says ContainerdSays(const os::Root& root, const std::string& path);

// The runtime handlers in containerd's configuration: "runc" and the handlers of RuntimeClasses.
// Null: it cannot be read, or has none.
std::optional<std::set<std::string>> ContainerdHandlers(const os::Root& root,
                                                        const std::string& path);

// Reads CRI-O's configuration: kYes if it sets the documents' directories.
Says CrioSays(const os::Root& root, const std::string& path);

}  // namespace tessera
