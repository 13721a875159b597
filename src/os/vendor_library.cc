// SPDX-License-Identifier: Apache-2.0
#include "os/vendor_library.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/owner.h"

namespace tessera::os {
namespace {

// Absolute links below a driver's root are relative to that root; Debian's libraries have such
// links.
std::string Followed(const std::string& path, Directories directories) {
  const size_t name = path.rfind('/');
  for (const std::string_view directory : directories) {
    const std::string_view parent = std::string_view(path).substr(0, name);
    if (!parent.ends_with(directory)) continue;
    return FollowBelow(path.substr(0, name - directory.size()), path);
  }
  return path;
}

// False for dangling links and directories. Kubelet creates a directory when it mounts a missing
// file.
bool IsFile(const std::string& path) {
  const auto info = InspectTarget(path);
  return info && info->type == FileInfo::Type::kFile;
}

// In a sticky directory like /tmp, users cannot remove or rename others' files.
bool IsTrusted(const Owner& owner, uid_t self) {
  const bool sticky = (owner.mode & S_ISVTX) != 0 && (owner.user == 0 || owner.user == self);
  return sticky || IsSafe(owner, self);
}

// Empty if only root and this process's user may change the file and its parent directories.
// Otherwise the reason.
std::string Distrust(const std::string& file) {
  for (std::string at = file; !at.empty(); at.resize(at.rfind('/'))) {
    const auto owner = OwnerOf(at);
    if (!owner) return owner.error().message;
    const bool trusted = at == file ? IsSafe(*owner, geteuid()) : IsTrusted(*owner, geteuid());
    if (trusted) continue;
    return fmt::format("{} is not loaded: users other than root can change {} (owner {}, mode {})",
                       file, at, owner->user, ModeText(owner->mode));
  }
  return {};
}

}  // namespace

LoadedLibrary LoadFirst(const std::vector<std::string>& paths, Directories directories, Trust trust,
                        Scope scope) {
  LoadedLibrary loaded;
  for (const std::string& path : paths) {
    const bool is_file = path.find('/') != std::string::npos;
    std::string file = is_file ? Followed(path, directories) : path;
    if (is_file && !IsFile(file)) file = path;  // the link refers to our own root after all
    if (is_file && !IsFile(file)) continue;
    if (trust == Trust::kRootsFile) {
      if (!is_file) continue;
      file = FollowBelow("", file);  // a followed link no longer matters
      loaded.failure = Distrust(file);
      if (!loaded.failure.empty()) break;
    }
    loaded.handle =
        dlopen(file.c_str(), RTLD_LAZY | (scope == Scope::kGlobal ? RTLD_GLOBAL : RTLD_LOCAL));
    loaded.path = path;
    if (loaded.handle != nullptr) break;
    const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc has one a thread
    loaded.failure = why == nullptr ? path : why;
    if (is_file) break;  // report why this file cannot be loaded
  }
  return loaded;
}

bool CanLoad(const std::vector<std::string>& paths, Directories directories) {
  void* handle = LoadFirst(paths, directories).handle;
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

std::vector<std::string> LibraryPaths(const Root& root, std::string_view driver_root,
                                      Directories directories,
                                      std::span<const std::string_view> names) {
  while (driver_root.ends_with('/')) driver_root.remove_suffix(1);
  std::vector<std::string> paths;
  const auto add = [&](const std::string& base) {
    for (const std::string_view directory : directories) {
      for (const std::string_view name : names) {
        paths.push_back(fmt::format("{}{}/{}", base, directory, name));
      }
    }
  };
  const std::string base = root.Path(driver_root);
  if (!base.empty()) add(base);
  if (!root.prefix().empty()) return paths;
  paths.insert(paths.end(), names.begin(), names.end());
  // A vendor's runtime may mount the library where the image's loader does not search.
  add("");
  return paths;
}

}  // namespace tessera::os
