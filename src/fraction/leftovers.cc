// SPDX-License-Identifier: Apache-2.0
#include "fraction/leftovers.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "base/log.h"
#include "grant/fraction.h"
#include "os/files.h"

namespace tessera {
namespace {

// No grant's name and no pod's UID has this prefix.
constexpr std::string_view kAside = ".ended-";
constexpr int kMostNames = 1000;

// Some file systems (ZFS before 2.2, NFS) do not support this flag. Only the agent's user renames
// there, so a check before the rename is as good.
bool RenameToNew(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL) return false;
  if (os::Inspect(to)) {
    errno = EEXIST;
    return false;
  }
  return rename(from.c_str(), to.c_str()) == 0;
}

}  // namespace

std::set<std::string> ContainersDirectories(const config::Config& config) {
  const os::Root root(config.root_prefix);
  std::set<std::string> directories;
  for (const config::Resource& resource : config.resources) {
    if (!resource.rendering.fractions) continue;
    const FractionFiles files = FilesOf(*resource.rendering.fractions);
    directories.insert({root.Path(files.containers), root.Path(files.locks)});
  }
  return directories;
}

std::set<std::string> AsideIn(const std::set<std::string>& directories) {
  std::set<std::string> paths;
  for (const std::string& directory : directories) {
    const auto names = os::ListDirectory(directory);
    if (!names) continue;
    for (const std::string& name : *names) {
      if (name.starts_with(kAside)) paths.insert(fmt::format("{}/{}", directory, name));
    }
  }
  return paths;
}

// Renames within the parent: a move elsewhere needs write permission for the moved directory
// itself.
Status Leftovers::PutAside(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string fresh =
      fmt::format("{}/{}{}", path.substr(0, slash), kAside, path.substr(slash + 1));
  for (int i = 0; i < kMostNames; ++i) {
    const std::string aside = i == 0 ? fresh : fmt::format("{}-{}", fresh, i);
    if (RenameToNew(path, aside) || errno == ENOENT) return {};
    if (errno != EEXIST) return Fail(SystemError("cannot rename " + path, errno));
  }
  return Fail(Reason::kIo, "cannot rename {}: {} with its name already wait for removal", path,
              kMostNames);
}

void Leftovers::Remove(const std::set<std::string>& directories) {
  if (!mutex_.try_lock()) return;
  const MutexLock lock(mutex_, std::adopt_lock);
  const std::set<std::string> aside = AsideIn(directories);
  for (const std::string& path : aside) Try(path);
  std::erase_if(attempts_, [&](const auto& attempt) { return !aside.contains(attempt.first); });
  stuck_ = attempts_.size();
}

void Leftovers::Try(const std::string& path) {
  const auto known = attempts_.find(path);
  if (known != attempts_.end() && clock_.Now() < known->second.next) return;
  const Status removed = os::RemoveTree(path);
  if (removed) {
    attempts_.erase(path);
    return;
  }
  Attempt& attempt = attempts_[path];
  const Duration pause = attempt.pauses.Failed();
  attempt.next = clock_.Now() + pause;
  log::Warn("cannot remove the files of an ended container; the agent retries", removed.error(),
            {{"directory", path}, {"seconds", pause.count() / 1'000}});
}

Status Leftovers::RemoveAll(const std::set<std::string>& directories) {
  Status first;
  for (const std::string& path : AsideIn(directories)) {
    const Status removed = os::RemoveTree(path);
    if (first && !removed) first = removed;
  }
  return first;
}

}  // namespace tessera
