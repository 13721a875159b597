// SPDX-License-Identifier: Apache-2.0
// Why no virtual GPU can be granted on this node, as far as that is to be known before a pod comes:
// what containers are to find of the limiting library is not there, or would not be the agent's.
// Any thread; waits for disks.
#pragma once

#include <string>

#include "base/result.h"
#include "grant/grant.h"
#include "os/files.h"

namespace tessera::agent {

// kPermission where others than root and the agent's user could change, or put something else in
// the place of, what is at this path of the host or lies above it. A group that may write there
// counts at the path itself alone. What is not there yet is nobody's.
Status CheckTrusted(const os::Root& root, const std::string& path);

// kNotEnforced without the library, and why its directories cannot be used (MakeSharedFiles).
Status CheckGrants(const os::Root& root, const Vgpu& vgpu);

// What the file system lacks that containers write on, "nosuid,nodev,noexec", where no CDI document
// says it of their mounts; empty: nothing.
std::string MissingMountFlags(const os::Root& root, const Vgpu& vgpu);

}  // namespace tessera::agent
