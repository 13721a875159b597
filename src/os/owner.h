// SPDX-License-Identifier: Apache-2.0
// Whose a file is, and who else may change it. Any thread.
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

// Symbolic links are followed. kNotFound when nothing is there.
Result<Owner> OwnerOf(const std::string& path);
// Whether nobody but root and `self` may write there. Root's group is root.
bool IsSafe(const Owner& owner, uid_t self);
// An octal mode as people write it: "0755".
std::string ModeText(mode_t mode);

}  // namespace tessera::os
