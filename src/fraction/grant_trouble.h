// SPDX-License-Identifier: Apache-2.0
// Why no virtual GPU can be granted on this node, as far as that is to be known before a pod comes:
// what containers are to find of the limiting library is not there, or would not be the agent's.
// Any thread; waits for disks.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "grant/grant.h"
#include "os/files.h"

namespace tessera {

// kPermission where others than root and the agent's user could change, or put something else in
// the place of, what is at this path of the host or lies above it. A group that may write there
// counts at the path itself alone. What is not there yet is nobody's.
Status CheckTrusted(const os::Root& root, const std::string& path);

// kNotEnforced without the library, and why its directories cannot be used (MakeSharedFiles).
Status CheckGrants(const os::Root& root, const FractionRules& fractions);

struct MissingFlags {
  std::string directory;
  std::string flags;  // "nosuid,nodev,noexec"
  bool operator==(const MissingFlags&) const = default;
};
// The first directory that containers write in whose file system lacks flags, where no CDI document
// says them of the mounts.
std::optional<MissingFlags> MissingMountFlags(const os::Root& root, const FractionRules& fractions);

}  // namespace tessera
