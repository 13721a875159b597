// SPDX-License-Identifier: Apache-2.0
// Checks the mounts of a grant that kubelet has kept. If a mount's source is missing, container
// runtimes make an empty directory there, and start the container. Any thread; waits for disks.
#pragma once

#include "base/result.h"
#include "grant/grant.h"
#include "os/files.h"

namespace tessera {

// kBadMount with the first mount whose source is missing or of the wrong file type.
Status CheckMountSources(const os::Root& root, const Grant& answer);

}  // namespace tessera
