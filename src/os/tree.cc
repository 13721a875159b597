// SPDX-License-Identifier: Apache-2.0
#include "os/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "os/fd.h"
#include "os/files.h"

namespace tessera::os {
namespace {

// The number of stuck entries in one directory after which it is given up.
constexpr size_t kMostStuck = 1000;

struct CloseDirectory {
  void operator()(DIR* stream) const { closedir(stream); }
};
using Stream = std::unique_ptr<DIR, CloseDirectory>;

// Opens its own descriptor, which closedir closes, and which starts at the first entry.
Stream StreamOf(const Fd& directory) {
  Fd own(openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Stream stream(own.valid() ? fdopendir(own.get()) : nullptr);
  if (stream != nullptr) own.Release();
  return stream;
}

// Empty at the end.
std::string NextName(const Stream& stream) {
  for (;;) {
    const dirent* entry = readdir(stream.get());  // NOLINT(concurrency-mt-unsafe): own stream
    if (entry == nullptr) return "";
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return std::string(name);
  }
}

bool IsOver(Steady until) {
  return until != Steady::max() && SystemClock().Now() >= until;
}

// chmod through /proc, because fchmod rejects O_PATH descriptors.
void ChangeMode(const Fd& seen, mode_t mode) {
  (void)chmod(fmt::format("/proc/self/fd/{}", seen.get()).c_str(), mode);
}

// Restores access that a directory's owner removed by a mode or an access list. The owner and
// CAP_FOWNER may do so, so no right to bypass permissions (CAP_DAC_OVERRIDE) is needed.
void SetRights(const Fd& seen, mode_t mode) {
  const std::string path = fmt::format("/proc/self/fd/{}", seen.get());
  (void)removexattr(path.c_str(), "system.posix_acl_access");
  ChangeMode(seen, mode);
}

// Makes the directory's entries removable.
void LetIn(const Fd& directory) {
  struct stat info{};
  if (fstat(directory.get(), &info) != 0) return;
  const bool own = info.st_uid == geteuid();
  if (own && (info.st_mode & 0700U) == 0700U) return;
  SetRights(directory, own ? (info.st_mode & 07777U) | 0700U : 0777);
}

// On failure not valid(); see errno.
Fd LookAt(int in, const std::string& name) {
  return Fd(openat(in, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Fd OpenSeen(const Fd& seen) {
  return Fd(openat(seen.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Empties a directory of any depth. Nesting may exceed the number of descriptors or the stack, so
// subdirectories are moved up to the top before they are emptied.
class Emptying {
 public:
  Emptying(const Fd& top, std::string path, std::set<std::string> keep, Steady until)
      : top_(top), path_(std::move(path)), stay_(std::move(keep)), until_(until) {}

  // The error of the first entry that stays.
  Status Run() {
    const size_t most = stay_.size() + kMostStuck;
    while (stay_.size() <= most) {
      const std::vector<std::string> names = TRY(SomeNamesIn(top_, path_, stay_));
      if (names.empty()) break;
      for (const std::string& name : names) {
        if (IsOver(until_)) return TimedOut();
        const Status removed = RemoveFromTop(name);
        if (!removed) Note(stay_, name, removed);
      }
    }
    return why_;
  }

 private:
  Status TimedOut() const {
    return Fail(Reason::kTimedOut, "{} takes too long to be emptied", path_);
  }

  void Note(std::set<std::string>& stay, const std::string& name, const Status& removed) {
    stay.insert(name);
    if (why_) why_ = removed;
  }

  // Up to kMost names in a directory except `but`, in any order. There may be millions.
  static Result<std::vector<std::string>> SomeNamesIn(const Fd& directory, const std::string& path,
                                                      const std::set<std::string>& but) {
    constexpr size_t kMost = 1000;
    const Stream stream = StreamOf(directory);
    if (stream == nullptr) return Fail(SystemError("cannot list " + path, errno));
    std::vector<std::string> names;
    while (names.size() < kMost) {
      std::string name = NextName(stream);
      if (name.empty()) break;
      if (!but.contains(name)) names.push_back(std::move(name));
    }
    return names;
  }

  Status RemoveFromTop(const std::string& name) {
    if (unlinkat(top_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
    const int why = errno;
    const std::string whole = path_ + "/" + name;
    const Fd seen = LookAt(top_.get(), name);
    if (!seen.valid()) {
      return Fail(SystemError("cannot remove " + whole, errno == ENOTDIR ? why : errno));
    }
    LetIn(seen);
    const Fd directory = OpenSeen(seen);
    if (!directory.valid()) return Fail(SystemError("cannot open " + whole, errno));
    TRY(Flatten(directory, whole));
    if (unlinkat(top_.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    return Fail(SystemError("cannot remove " + whole, errno));
  }

  // Removes the entries of a subdirectory of the top. Its own subdirectories move to the top.
  Status Flatten(const Fd& directory, const std::string& path) {
    std::set<std::string> stay;
    Status first;
    while (stay.size() <= kMostStuck) {
      const std::vector<std::string> names = TRY(SomeNamesIn(directory, path, stay));
      if (names.empty()) break;
      for (const std::string& name : names) {
        if (IsOver(until_)) return TimedOut();
        const Status removed = RemoveOrMoveUp(directory, name, path);
        if (removed) continue;
        stay.insert(name);
        if (first) first = removed;
      }
    }
    return first;
  }

  Status RemoveOrMoveUp(const Fd& from, const std::string& name, const std::string& path) {
    if (unlinkat(from.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
    const int why = errno;
    if (unlinkat(from.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    const Fd seen = LookAt(from.get(), name);
    if (!seen.valid()) {
      return Fail(SystemError(fmt::format("cannot remove {}/{}", path, name),
                              errno == ENOTDIR ? why : errno));
    }
    LetIn(seen);  // it has another parent then, which it says itself
    for (;;) {
      const std::string fresh = ".moved-up-" + std::to_string(moved_++);
      if (renameat2(from.get(), name.c_str(), top_.get(), fresh.c_str(), RENAME_NOREPLACE) == 0) {
        return {};
      }
      if (errno != EEXIST) {
        return Fail(SystemError(fmt::format("cannot remove {}/{}", path, name), errno));
      }
    }
  }

  const Fd& top_;
  const std::string path_;
  std::set<std::string> stay_;  // names to keep, and names that cannot be removed
  const Steady until_;
  uint64_t moved_ = 0;
  Status why_;
};

class Measurement {
 public:
  explicit Measurement(const TreeBounds& bounds) : bounds_(bounds) {}

  void Add(const Fd& directory, int depth) {
    const Stream stream = StreamOf(directory);
    if (stream == nullptr) return Stop(SystemError("cannot list a directory in it", errno));
    for (std::string name = NextName(stream); size_.whole && !name.empty();
         name = NextName(stream)) {
      AddOne(directory, name, depth);
    }
  }

  void AddTop(const Fd& directory) {
    struct stat info{};
    if (fstat(directory.get(), &info) == 0) size_.own = BytesOf(info);
    Add(directory, 0);
  }

  void Stop(Error why) { size_.whole = Fail(std::move(why)); }
  TreeSize size() const { return size_; }

 private:
  void AddOne(const Fd& directory, const std::string& name, int depth) {
    if (size_.entries >= bounds_.entries) {
      return Stop({Reason::kIo, fmt::format("it has more than {} files", bounds_.entries)});
    }
    if (IsOver(bounds_.until)) return Stop({Reason::kTimedOut, "it takes too long to measure"});
    struct stat info{};
    if (fstatat(directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
    ++size_.entries;
    size_.bytes += BytesOf(info);
    if (!S_ISDIR(info.st_mode)) return;
    if (depth >= bounds_.depth) {
      return Stop({Reason::kIo, fmt::format("its directories are nested deeper than {}", depth)});
    }
    const Fd below(
        openat(directory.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (below.valid()) return Add(below, depth + 1);
    if (errno != ENOENT) Stop(SystemError("cannot open a directory in it", errno));
  }

  const TreeBounds& bounds_;
  TreeSize size_;
};

}  // namespace

uint64_t BytesOf(const struct stat& info) {
  constexpr uint64_t kBlock = 512;
  return static_cast<uint64_t>(info.st_blocks) * kBlock;
}

Fd OpenDirectory(const std::string& path, mode_t mode) {
  Fd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.valid() || errno != EACCES) return directory;
  const Fd seen = LookAt(AT_FDCWD, path);
  if (!seen.valid()) return {};
  SetRights(seen, mode);
  return OpenSeen(seen);
}

TreeSize MeasureTree(const std::string& path, const TreeBounds& bounds) {
  Measurement measurement(bounds);
  const Fd top(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (top.valid()) {
    measurement.AddTop(top);
  } else {
    measurement.Stop(SystemError("cannot open " + path, errno));
  }
  return measurement.size();
}

Status EmptyDirectory(const std::string& path, const std::set<std::string>& keep, Steady until) {
  const Fd top(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top.valid()) return Fail(SystemError("cannot open " + path, errno));
  LetIn(top);
  return Emptying(top, path, keep, until).Run();
}

Status RemoveTree(const std::string& path) {
  const Fd seen = LookAt(AT_FDCWD, path);
  if (!seen.valid() && (errno == ENOTDIR || errno == ELOOP)) return RemoveFile(path);
  if (!seen.valid() && errno == ENOENT) return {};
  if (!seen.valid()) return Fail(SystemError("cannot open " + path, errno));
  LetIn(seen);
  const Fd top = OpenSeen(seen);
  if (!top.valid()) return Fail(SystemError("cannot open " + path, errno));
  TRY(Emptying(top, path, {}, Steady::max()).Run());
  if (rmdir(path.c_str()) == 0 || errno == ENOENT) return {};
  return Fail(SystemError("cannot remove " + path, errno));
}

}  // namespace tessera::os
