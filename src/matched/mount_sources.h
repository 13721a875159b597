// SPDX-License-Identifier: Apache-2.0
// Whether what kubelet keeps of a grant can be mounted as it was meant: where the source of a mount
// is missing, container runtimes make an empty directory in its place, and start the container. Any
// thread; waits for disks.
#pragma once

#include "base/result.h"
#include "grant/grant.h"
#include "os/files.h"

namespace tessera {

// kBadMount with the first mount of virtual GPUs whose source is not of the right kind.
Status CheckMountSources(const os::Root& root, const Grant& answer);

}  // namespace tessera
