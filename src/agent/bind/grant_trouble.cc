// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/grant_trouble.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/bind/grant_files.h"
#include "agent/bind/library_files.h"
#include "grant/vgpu.h"
#include "os/owner.h"

namespace tessera::agent {
namespace {

Status CheckOne(const std::string& path, bool above) {
  auto owner = os::OwnerOf(path);
  if (!owner && owner.error().reason == Reason::kNotFound) return {};
  if (!owner) return Fail(owner.error());
  os::Owner counted = *owner;
  if (above) counted.mode &= ~static_cast<mode_t>(S_IWGRP);
  if (os::IsSafe(counted, geteuid())) return {};
  return Fail(Reason::kPermission,
              "{} could be written by others than root: user {}, group {}, {}: what containers "
              "are held by may not lie there",
              path, owner->user, owner->group, os::ModeText(owner->mode));
}

}  // namespace

Status CheckTrusted(const os::Root& root, const std::string& path) {
  const std::string whole = root.Path(path);
  // By the path's own names, and where links lead.
  for (const std::string& way : {whole, os::FollowBelow(root.prefix(), whole)}) {
    size_t end = root.prefix().size();
    while ((end = way.find('/', end + 1)) != std::string::npos) {
      TRY(CheckOne(way.substr(0, end), true));
    }
    TRY(CheckOne(way, false));
  }
  return {};
}

Status CheckGrants(const os::Root& root, const Vgpu& vgpu) {
  TRY(MakeSharedFiles(root, vgpu));
  if (!vgpu.enforced) return {};
  TRY(CheckLibrary(root, vgpu));
  return CheckTrusted(root, vgpu.library);
}

std::string MissingMountFlags(const os::Root& root, const Vgpu& vgpu) {
  struct statvfs mounted{};
  if (statvfs(root.Path(FilesOf(vgpu).containers).c_str(), &mounted) != 0) return "";
  std::string missing;
  const auto want = [&](unsigned long flag, const char* name) {
    if ((mounted.f_flag & flag) == 0) missing += (missing.empty() ? "" : ",") + std::string(name);
  };
  want(ST_NOSUID, "nosuid");
  want(ST_NODEV, "nodev");
  want(ST_NOEXEC, "noexec");
  return missing;
}

}  // namespace tessera::agent
