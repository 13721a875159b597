// SPDX-License-Identifier: Apache-2.0
// What containerd's configuration says of CDI, the files that it imports included. As containerd
// merges them: the file itself first, then what it imports, in order, then what those import; of
// what several say the last counts. Any thread.
#pragma once

#include <string>

#include "os/files.h"

namespace tessera::agent {

enum class Says : uint8_t { kNothing, kNo, kYes };

// Of the configuration at `path`; kNothing where there is none that can be read, or where its
// containerd is not kubelet's. An import that cannot be read could take back any yes: then none
// counts, and the log says so.
Says ContainerdSays(const os::Root& root, const std::string& path);

}  // namespace tessera::agent
