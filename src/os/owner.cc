// SPDX-License-Identifier: Apache-2.0
#include "os/owner.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>

namespace tessera::os {

Result<Owner> OwnerOf(const std::string& path) {
  struct stat s{};
  if (stat(path.c_str(), &s) != 0) return Fail(SystemError("cannot look at " + path, errno));
  return Owner{.user = s.st_uid, .group = s.st_gid, .mode = static_cast<mode_t>(s.st_mode & 07777)};
}

bool IsSafe(const Owner& owner, uid_t self) {
  const bool ours = owner.user == 0 || owner.user == self;
  const bool group = (owner.mode & S_IWGRP) != 0 && owner.group != 0;
  return ours && !group && (owner.mode & S_IWOTH) == 0;
}

std::string ModeText(mode_t mode) {
  return fmt::format("{:04o}", static_cast<unsigned>(mode));
}

}  // namespace tessera::os
