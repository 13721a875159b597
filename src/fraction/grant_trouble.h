// SPDX-License-Identifier: Apache-2.0
// Why this node can grant no virtual GPU, known before a pod comes: the limiting library or its
// directories are missing, or could be another user's. Stateless. Any thread; waits for disks.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "grant/grant.h"
#include "os/files.h"

namespace tessera {

// kPermission if another user than root and the agent's could change or replace the file at this
// host path, or a directory above it. A writing group counts only at the path itself. A missing
// path is trusted.
Status CheckTrusted(const os::Root& root, const std::string& path);

// kNotEnforced if the library is missing; else why its directories cannot be used
// (MakeSharedFiles).
Status CheckGrants(const os::Root& root, const FractionRules& fractions);

struct MissingFlags {
  std::string directory;
  std::string flags;  // "nosuid,nodev,noexec"
  bool operator==(const MissingFlags&) const = default;
};
// The first directory that containers write in whose file system lacks mount flags. It matters
// without CDI only: CDI documents set the flags on the mounts.
std::optional<MissingFlags> MissingMountFlags(const os::Root& root, const FractionRules& fractions);

}  // namespace tessera
