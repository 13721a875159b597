// SPDX-License-Identifier: Apache-2.0
// A file's owner, and who else may change it. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace tessera::os {

struct Owner {
  uid_t user = 0;
  gid_t group = 0;
  mode_t mode = 0;  // permission bits
  bool operator==(const Owner&) const = default;
};

// Follows symbolic links. kNotFound if the path does not exist.
Result<Owner> OwnerOf(const std::string& path);
// Whether only root and `self` may write. Root's group counts as root.
bool IsSafe(const Owner& owner, uid_t self);
// The mode in octal: "0755".
std::string ModeText(mode_t mode);

}  // namespace tessera::os
