// SPDX-License-Identifier: Apache-2.0
#include "os/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

#include "base/mutex.h"
#include "os/fd.h"
#include "os/open.h"

namespace tessera::os {
namespace {

FileInfo::Type TypeOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return FileInfo::Type::kFile;
    case S_IFDIR:
      return FileInfo::Type::kDirectory;
    case S_IFLNK:
      return FileInfo::Type::kSymlink;
    case S_IFSOCK:
      return FileInfo::Type::kSocket;
    case S_IFCHR:
      return FileInfo::Type::kCharDevice;
    case S_IFBLK:
      return FileInfo::Type::kBlockDevice;
    default:
      return FileInfo::Type::kOther;
  }
}

FileInfo InfoOf(const struct stat& s) {
  return {.type = TypeOf(s.st_mode),
          .device = s.st_dev,
          .inode = s.st_ino,
          .changed_ns = int64_t{s.st_ctim.tv_sec} * 1'000'000'000 + s.st_ctim.tv_nsec,
          .rdev = s.st_rdev,
          .mode = static_cast<mode_t>(s.st_mode & 07777),
          .links = s.st_nlink};
}

std::string DirectoryOf(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status WriteAll(const Fd& fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    ssize_t n = write(fd.get(), content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Fail(SystemError("cannot write " + path, errno));
    content.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

// The temporary file must be in the same directory: a rename across directories is invisible to
// some watchers, and not atomic across mounts. The name is fixed for a process, so the next write
// overwrites leftovers of a crash.
std::string TemporaryName(const std::string& path) {
  return path + ".tmp" + std::to_string(getpid());
}

// Whether a write must survive a kernel crash, or only the death of this process.
enum class Outlives : bool { kProcess, kKernel };

// Removes a crash's leftover, which is rare, and retries.
Result<Fd> CreateTemporary(const std::string& path, mode_t mode) {
  for (bool again = false;; again = true) {
    Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (fd.valid()) return fd;
    if (again || errno != EEXIST) return Fail(SystemError("cannot create " + path, errno));
    TRY(RemoveFile(path));
  }
}

Status WriteTemporary(const std::string& path, std::string_view content, mode_t mode,
                      Outlives outlives) {
  const Fd fd = TRY(CreateTemporary(path, mode));
  TRY(WriteAll(fd, content, path));
  if (fchmod(fd.get(), mode) != 0) return Fail(SystemError("cannot set mode of " + path, errno));
  if (outlives == Outlives::kKernel && fsync(fd.get()) != 0) {
    return Fail(SystemError("cannot sync " + path, errno));
  }
  return {};
}

Status Prepare(const std::string& path, std::string_view content, mode_t mode, Outlives outlives) {
  if (auto info = Inspect(path); info && info->type != FileInfo::Type::kFile) {
    return Fail(Reason::kSocketPlanted, "{} is not a regular file and is not replaced", path);
  }
  const std::string temporary = TemporaryName(path);
  const Status written = WriteTemporary(temporary, content, mode, outlives);
  if (!written) unlink(temporary.c_str());
  return written;
}

Status PutInPlace(const std::string& path) {
  const std::string temporary = TemporaryName(path);
  if (rename(temporary.c_str(), path.c_str()) == 0) return {};
  Error error = SystemError("cannot rename " + temporary + " to " + path, errno);
  unlink(temporary.c_str());
  return Fail(std::move(error));
}

// Serializes threads that replace the same file, since they share its temporary name. With this
// many mutexes, threads with different files rarely collide.
Mutex& MutexOf(const std::string& path) {
  static std::array<Mutex, 1024> mutexes;
  return mutexes.at(std::hash<std::string>()(path) % mutexes.size());
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, size_t most) {
  const Fd fd = TRY(OpenFile(path, O_RDONLY));
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return Fail(SystemError("cannot look at " + path, errno));
  std::string text;
  char buffer[16384];
  while (text.size() < most) {
    ssize_t n = read(fd.get(), buffer, std::min(sizeof buffer, most - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Fail(SystemError("cannot read " + path, errno));
    if (n == 0) break;
    text.append(buffer, static_cast<size_t>(n));
    // Files in /proc and /sys have a size of 0 or a page, so read until the end.
    if (text.size() == static_cast<size_t>(info.st_size)) break;
  }
  return text;
}

Status WriteFileAtomically(const std::string& path, std::string_view content, mode_t mode) {
  const MutexLock lock(MutexOf(path));
  TRY(Prepare(path, content, mode, Outlives::kKernel));
  TRY(PutInPlace(path));
  SyncDirectory(DirectoryOf(path));
  return {};
}

Result<PreparedFile> PreparedFile::Write(const std::string& path, std::string_view content,
                                         mode_t mode) {
  TRY(Prepare(path, content, mode, Outlives::kKernel));
  return PreparedFile(path);
}

PreparedFile::~PreparedFile() {
  if (!path_.empty()) unlink(TemporaryName(path_).c_str());
}

Status PreparedFile::Put() {
  return PutInPlace(std::exchange(path_, ""));
}

void SyncDirectory(const std::string& path) {
  const Fd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid()) fsync(directory.get());
}

Status ReplaceFile(const std::string& path, std::string_view content, mode_t mode) {
  const MutexLock lock(MutexOf(path));
  TRY(Prepare(path, content, mode, Outlives::kProcess));
  return PutInPlace(path);
}

Result<Fd> OpenToAppend(const std::string& path) {
  return OpenFile(path, O_WRONLY | O_APPEND, Links::kRefused);
}

Status Append(const Fd& fd, std::string_view content, const std::string& path) {
  return WriteAll(fd, content, path);
}

Result<std::string> ReadLink(const std::string& path) {
  char target[4096];
  const ssize_t n = readlink(path.c_str(), target, sizeof target);
  if (n < 0) return Fail(SystemError("cannot read the link " + path, errno));
  return std::string(target, static_cast<size_t>(n));
}

Status ReplaceLink(const std::string& path, const std::string& target) {
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  TRY(RemoveFile(temporary));
  if (symlink(target.c_str(), temporary.c_str()) != 0) {
    return Fail(SystemError("cannot make the link " + temporary, errno));
  }
  if (rename(temporary.c_str(), path.c_str()) == 0) return {};
  Error error = SystemError("cannot rename " + temporary + " to " + path, errno);
  unlink(temporary.c_str());
  return Fail(std::move(error));
}

Result<FileInfo> Inspect(const std::string& path) {
  struct stat s{};
  if (lstat(path.c_str(), &s) != 0) return Fail(SystemError("cannot look at " + path, errno));
  return InfoOf(s);
}

Result<FileInfo> InspectTarget(const std::string& path) {
  struct stat s{};
  if (stat(path.c_str(), &s) != 0) return Fail(SystemError("cannot look at " + path, errno));
  return InfoOf(s);
}

bool Exists(const std::string& path) {
  return Inspect(path).has_value();
}

std::string FollowBelow(const std::string& root, const std::string& path) {
  constexpr int kMostLinks = 40;  // the kernel's limit
  int links = 0;
  std::string reached = root;
  std::string rest = path.substr(root.size());
  while (!rest.empty()) {
    const std::string name = rest.substr(0, rest.find('/'));
    rest.erase(0, name.size() + 1);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      reached = reached == root ? root : reached.substr(0, reached.rfind('/'));
      continue;
    }
    const std::string next = reached + "/" + name;
    char target[PATH_MAX];
    const ssize_t size = readlink(next.c_str(), target, sizeof target);
    if (size < 0) {
      reached = next;
      continue;
    }
    if (++links > kMostLinks) return path;
    rest = std::string(target, static_cast<size_t>(size)) + "/" + rest;
    if (rest.starts_with('/')) reached = root;
  }
  return reached;
}

bool OnSameMount(const std::string& a, const std::string& b) {
  const auto mount_of = [](const std::string& path) -> std::optional<uint64_t> {
    struct statx s{};
    if (statx(AT_FDCWD, path.c_str(), 0, STATX_MNT_ID, &s) != 0) return std::nullopt;
    if ((s.stx_mask & STATX_MNT_ID) == 0) return std::nullopt;
    return s.stx_mnt_id;
  };
  const auto mount = mount_of(a);
  return mount && mount == mount_of(b);
}

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return Fail(SystemError("cannot list " + path, errno));
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory)) {  // NOLINT(concurrency-mt-unsafe): own stream
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

Status MakeDirectories(const std::string& path, mode_t mode) {
  const auto is_there = [&] {
    const auto info = InspectTarget(path);
    return info && info->type == FileInfo::Type::kDirectory;
  };
  // Check first: mkdir blocks while another process writes in the parent directory.
  if (path.empty() || path == "/" || is_there()) return {};
  int made = mkdir(path.c_str(), mode);
  if (made != 0 && errno == ENOENT) {
    TRY(MakeDirectories(DirectoryOf(path), mode));
    made = mkdir(path.c_str(), mode);
  }
  if (made == 0) {
    chmod(path.c_str(), mode);  // set the mode despite the umask
    return {};
  }
  const int error = errno;
  if (is_there()) return {};
  return Fail(SystemError("cannot make directory " + path, error));
}

Status RemoveFile(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return Fail(SystemError("cannot remove " + path, errno));
}

Result<std::string> MakeTemporaryDirectory(const std::string& prefix) {
  std::string path = prefix + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return Fail(SystemError("cannot make " + path, errno));
  return path;
}

Result<std::string> ReadBootId() {
  std::string text = TRY(ReadFile("/proc/sys/kernel/random/boot_id"));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string Root::WithoutPrefix(std::string_view path) const {
  if (path.starts_with(prefix_)) path.remove_prefix(prefix_.size());
  return std::string(path);
}

}  // namespace tessera::os
