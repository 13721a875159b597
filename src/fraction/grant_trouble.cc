// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_trouble.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <vector>

#include "base/text.h"
#include "fraction/grant_files.h"
#include "fraction/library_files.h"
#include "grant/fraction.h"
#include "os/owner.h"

namespace tessera {
namespace {

Status CheckOne(const std::string& path, bool above) {
  auto owner = os::OwnerOf(path);
  if (!owner && owner.error().reason == Reason::kNotFound) return {};
  if (!owner) return Fail(owner.error());
  os::Owner counted = *owner;
  if (above) counted.mode &= ~static_cast<mode_t>(S_IWGRP);
  if (os::IsSafe(counted, geteuid())) return {};
  return Fail(Reason::kPermission,
              "{} is writable for users other than root (user {}, group {}, {}); files that limit "
              "containers must not lie there",
              path, owner->user, owner->group, os::ModeText(owner->mode));
}

}  // namespace

Status CheckTrusted(const os::Root& root, const std::string& path) {
  const std::string whole = root.Path(path);
  // Checks the path itself, and the path that its links lead to.
  for (const std::string& way : {whole, os::FollowBelow(root.prefix(), whole)}) {
    size_t end = root.prefix().size();
    while ((end = way.find('/', end + 1)) != std::string::npos) {
      TRY(CheckOne(way.substr(0, end), true));
    }
    TRY(CheckOne(way, false));
  }
  return {};
}

Status CheckGrants(const os::Root& root, const FractionRules& fractions) {
  TRY(MakeSharedFiles(root, fractions));
  if (!fractions.enforced) return {};
  TRY(CheckLibrary(root, fractions));
  return CheckTrusted(root, fractions.library);
}

std::optional<MissingFlags> MissingMountFlags(const os::Root& root,
                                              const FractionRules& fractions) {
  const FractionFiles files = FilesOf(fractions);
  std::vector<std::string> written = {files.containers};
  if (!fractions.own_library) written.push_back(files.locks);
  for (const std::string& directory : written) {
    struct statvfs mounted{};
    if (statvfs(root.Path(directory).c_str(), &mounted) != 0) continue;
    std::vector<std::string> missing;
    if ((mounted.f_flag & ST_NOSUID) == 0) missing.emplace_back("nosuid");
    if ((mounted.f_flag & ST_NODEV) == 0) missing.emplace_back("nodev");
    if ((mounted.f_flag & ST_NOEXEC) == 0) missing.emplace_back("noexec");
    if (!missing.empty()) return MissingFlags{directory, Join(missing, ",")};
  }
  return std::nullopt;
}

}  // namespace tessera
