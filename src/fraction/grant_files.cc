// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "fraction/grant_region.h"
#include "fraction/grant_trouble.h"
#include "fraction/leftovers.h"
#include "fraction/library_files.h"
#include "limiter/contract.h"
#include "matched/matched_grants.h"
#include "os/fd.h"
#include "os/tree.h"

namespace tessera {
namespace {

// Opens a directory that must be the agent's user's and no link. It is opened once, so the checked
// directory is the changed one, even if another user renames entries.
Result<os::Fd> OpenOwnDirectory(const std::string& path, mode_t mode) {
  os::Fd fd = os::OpenDirectory(path, mode);
  if (!fd.valid() && errno == ENOENT) {
    if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
      return Fail(SystemError("cannot make the directory " + path, errno));
    }
    fd = os::OpenDirectory(path, mode);
  }
  if (!fd.valid() && errno != ENOTDIR && errno != ELOOP) {
    return Fail(SystemError("cannot open the directory " + path, errno));
  }
  struct stat info{};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || info.st_uid != geteuid()) {
    return Fail(Reason::kPermission, "{} is not a directory of the agent's user; remove it", path);
  }
  if ((info.st_mode & 0777U) != mode && fchmod(fd.get(), mode) != 0) {
    return Fail(SystemError("cannot set the rights of " + path, errno));
  }
  return fd;
}

std::string ParentOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// Only the agent's user writes in the parent directory, so a new directory needs no further check.
Result<bool> MakeNew(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) == 0) {
    if (chmod(path.c_str(), mode) == 0) return true;
    return Fail(SystemError("cannot set the rights of " + path, errno));
  }
  if (errno == EEXIST) return false;
  return Fail(SystemError("cannot make the directory " + path, errno));
}

bool IsFile(const os::Root& root, const std::string& path) {
  const auto info = os::InspectTarget(root.Path(path));
  return info && info->type == os::FileInfo::Type::kFile;
}

// The gate is /dev/null, which every container has anyway, so it grants no access.
constexpr unsigned kGateMajor = 1;
constexpr unsigned kGateMinor = 3;

bool IsGate(int directory, const std::string& name) {
  struct stat info{};
  return fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISCHR(info.st_mode) && info.st_rdev == makedev(kGateMajor, kGateMinor);
}

Status MakeGate(const std::string& path) {
  const std::string parent = ParentOf(path);
  const os::Fd directory = TRY(OpenOwnDirectory(parent, 0700));
  struct statvfs mounted{};
  if (fstatvfs(directory.get(), &mounted) != 0) {
    return Fail(SystemError("cannot look at the file system of " + parent, errno));
  }
  if ((mounted.f_flag & ST_NODEV) != 0) {
    return Fail(Reason::kNoGate, "{} is on a file system that is mounted with 'nodev'", parent);
  }
  const std::string name = path.substr(parent.size() + 1);
  if (IsGate(directory.get(), name)) return {};
  (void)unlinkat(directory.get(), name.c_str(), 0);
  if (mknodat(directory.get(), name.c_str(), S_IFCHR | 0400, makedev(kGateMajor, kGateMinor)) ==
      0) {
    return {};
  }
  return Fail(Reason::kNoGate, "{}",
              SystemError("cannot make the device node " + path, errno).message);
}

Status PutUnlessSame(const std::string& path, std::string_view text, mode_t mode) {
  const auto on_disk = os::ReadFile(path);
  if (on_disk && *on_disk == text) return {};
  return os::ReplaceFile(path, text, mode);
}

// Writes a file in a new directory. It is complete before any container gets the directory.
Status WriteNew(const std::string& path, std::string_view text, mode_t mode) {
  const os::Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  const bool written =
      file.valid() &&
      write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      fchmod(file.get(), mode) == 0;
  return written ? Status() : Fail(SystemError("cannot write " + path, errno));
}

// True if the container keeps a former library. Such a library may not know the word kAsBuilt. So
// its container gets no such file, unless it once had one.
bool IsFormer(const os::Root& root, const FractionRules& fractions, const BindingRecord& record) {
  return LibraryOf(root, fractions, record) != fractions.library;
}

// Copies the node's no-limits word, in its current state, next to the grant's limits.
Status PutNoLimits(const os::Root& root, const FractionRules& fractions, const std::string& name,
                   const BindingRecord& record) {
  const std::string file = root.Path(NoLimitsFileOf(fractions, name));
  constexpr size_t kMost = 64;  // bytes; longer text is no word
  const auto text = os::ReadFile(root.Path(FilesOf(fractions).no_limits), kMost);
  if (text) return PutUnlessSame(file, *text, 0444);
  // Unreadable text counts as "closed", the safe word.
  if (text.error().reason != Reason::kNotFound) return PutUnlessSame(file, "closed\n", 0444);
  if (IsFormer(root, fractions, record) && !os::Exists(file)) return {};
  return PutUnlessSame(file, std::string(limiter::kAsBuilt) + "\n", 0444);
}

// The container gets its own directory of these, read-only.
Status WriteLimits(const os::Root& root, const FractionRules& fractions, const std::string& name,
                   const BindingRecord& record) {
  constexpr mode_t kMode = 0444;
  const std::string directory = root.Path(LimitsOf(fractions, name));
  const std::string file = root.Path(LimitsFileOf(fractions, name));
  const FractionGrant grant{.name = name, .directory = record.directory, .parts = record.parts};
  const std::string text = fractions.enforcer->LimitsText(fractions, grant);
  // Another thread may make the directory for the same grant at the same time.
  if (TRY(MakeNew(directory, 0755)) && WriteNew(file, text, kMode)) return {};
  TRY(OpenOwnDirectory(directory, 0755));
  return PutUnlessSame(file, text, kMode);
}

// The library accepts limits only from this file system (limiter/contract.h).
Status CheckOneFileSystem(const os::Root& root, const FractionRules& fractions) {
  const std::string limits = FilesOf(fractions).limits;
  const auto whole = os::InspectTarget(root.Path(fractions.directory));
  const auto part = os::Inspect(root.Path(limits));
  if (!whole || !part || whole->device == part->device) return {};
  return Fail(Reason::kBadMount,
              "{} and {} are on different file systems; remove the mount between them", limits,
              fractions.directory);
}

// Makes a directory that the container writes in. If the container has changed its owner or
// replaced it, a new one is made.
Status MakeForContainer(const std::string& path) {
  constexpr mode_t kMode = 0777;
  if (TRY(MakeNew(path, kMode))) return {};
  const auto there = OpenOwnDirectory(path, kMode);
  if (there) return {};
  if (there.error().reason != Reason::kPermission) return Fail(there.error());
  TRY(Leftovers::PutAside(path));
  TRY(MakeNew(path, kMode));
  return {};
}

// The rules, with the directory of the configuration that made the record.
FractionRules OfWhichIs(const BindingRecord& record) {
  FractionRules fractions;
  fractions.directory = ParentOf(ParentOf(record.directory));
  return fractions;
}

}  // namespace

Status MakeSharedFiles(const os::Root& root, const FractionRules& fractions) {
  const FractionFiles files = FilesOf(fractions);
  TRY(os::MakeDirectories(root.Path(fractions.directory), 0755));
  TRY(CheckTrusted(root, fractions.directory));
  // Users of the host must not reach containers' files. The runtime does, as root.
  TRY(OpenOwnDirectory(root.Path(files.containers), 0700));
  TRY(OpenOwnDirectory(root.Path(files.locks), 0700));
  if (!fractions.enforced || fractions.enforcer == nullptr) return {};
  TRY(OpenOwnDirectory(root.Path(files.limits), 0700));
  TRY(CheckOneFileSystem(root, fractions));
  // Without the library this file has no effect, and each grant checks for the library.
  return PutUnlessSame(root.Path(files.preload), fractions.enforcer->PreloadText(fractions), 0644);
}

Status MakeGrantFiles(const os::Root& root, const FractionRules& fractions, const std::string& name,
                      const BindingRecord& record, const Grant& answer) {
  const std::string directory = root.Path(record.directory);
  // A former grant's directory is where its configuration had it.
  if (ParentOf(record.directory) != FilesOf(fractions).containers) {
    TRY(os::MakeDirectories(ParentOf(ParentOf(directory)), 0755));
    TRY(OpenOwnDirectory(ParentOf(directory), 0700));
  }
  TRY(MakeForContainer(directory));
  const std::string locks = root.Path(LocksOf(fractions, name));
  const bool locked = IsFormer(root, fractions, record) ? FormerWantsLock(root, fractions, record)
                                                        : !fractions.own_library;
  if (locked) TRY(MakeForContainer(locks));
  if (fractions.enforced && fractions.enforcer != nullptr) {
    if (LibraryOf(root, fractions, record) == fractions.library) TRY(CheckLibrary(root, fractions));
    TRY(WriteLimits(root, fractions, name, record));
    TRY(PutNoLimits(root, fractions, name, record));
    TRY(MakeRegion(root, fractions, name, record));
  }
  TRY(CheckMountSources(root, answer));
  return record.gate.empty() ? Status() : MakeGate(root.Path(record.gate));
}

void RemoveLimits(const os::Root& root, const std::string& name, const BindingRecord& record) {
  (void)os::RemoveTree(root.Path(LimitsOf(OfWhichIs(record), name)));
}

std::string LocksOf(const BindingRecord& record, const std::string& name) {
  return LocksOf(OfWhichIs(record), name);
}

std::string LibraryOf(const os::Root& root, const FractionRules& fractions,
                      const BindingRecord& record) {
  return !record.library.empty() && IsFile(root, record.library) ? record.library
                                                                 : fractions.library;
}

bool FormerWantsLock(const os::Root& root, const FractionRules& fractions,
                     const BindingRecord& record) {
  const std::string library = LibraryOf(root, fractions, record);
  return library != fractions.library && !IsOwnLibrary(root, library);
}

bool IsLicensed(const os::Root& root, const FractionRules& fractions) {
  if (fractions.enforcer == nullptr) return false;
  const std::vector<std::string> files = fractions.enforcer->LicenseFiles(fractions);
  return !files.empty() &&
         std::ranges::all_of(files, [&](const std::string& file) { return IsFile(root, file); });
}

}  // namespace tessera
