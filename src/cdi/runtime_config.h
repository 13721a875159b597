// SPDX-License-Identifier: Apache-2.0
// What the configuration of a container runtime says of CDI. The TOML library stays behind this
// header. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "os/files.h"

namespace tessera {

enum class Says : uint8_t { kNothing, kNo, kYes };

// Of containerd's configuration at `path`, the files that it imports included; kNothing where there
// is none that can be read, or where its containerd is not kubelet's. As containerd merges them:
// the file itself first, then what it imports, in order, then what those import; of what several
// say the last counts. An import that cannot be read could take back any yes: then none counts, and
// the log says so. A format that is newer than the newest known counts as that one.
Says ContainerdSays(const os::Root& root, const std::string& path);

// Names of the runtimes that containerd's configuration has, "runc" and what RuntimeClasses name;
// nothing where it cannot be read, or sets none.
std::optional<std::set<std::string>> ContainerdHandlers(const os::Root& root,
                                                        const std::string& path);

// Of CRI-O's: kYes where it names the directories of documents.
Says CrioSays(const os::Root& root, const std::string& path);

}  // namespace tessera
