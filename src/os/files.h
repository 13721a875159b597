// SPDX-License-Identifier: Apache-2.0
// File operations: whole reads, crash-safe writes, listings. Paths below a Root are absolute and
// get its prefix, so tests can supply their own /sys, /dev and /var. Any thread. Nothing is cached.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace tessera::os {

// The needed part of stat's result.
struct FileInfo {
  enum class Type : uint8_t {
    kFile,
    kDirectory,
    kSymlink,
    kSocket,
    kCharDevice,
    kBlockDevice,
    kOther
  };
  Type type = Type::kOther;
  dev_t device = 0;
  ino_t inode = 0;
  int64_t changed_ns = 0;  // ctime; with device and inode it identifies the file
  dev_t rdev = 0;          // for a device node
  mode_t mode = 0;         // permission bits
  nlink_t links = 0;
  bool operator==(const FileInfo&) const = default;
};

// The content of a regular file, or its first `most` bytes. Any other type at that path is kIo
// without a read, because reading a pipe or device may never end.
Result<std::string> ReadFile(const std::string& path, size_t most = SIZE_MAX);
// Replaces a file crash-safely: writes a temporary file in the same directory, syncs it, renames it
// to `path`, syncs the directory. After a crash the file is either the old or the new one,
// complete. Only a regular file is replaced.
Status WriteFileAtomically(const std::string& path, std::string_view content, mode_t mode = 0600);
// As WriteFileAtomically, without syncs. Fast, and complete for readers after this process is
// killed; a kernel crash may lose it.
Status ReplaceFile(const std::string& path, std::string_view content, mode_t mode = 0600);
// WriteFileAtomically in two steps, so that several files of a directory share the wait for the
// disk. Two threads must not write the same file at once.
class PreparedFile {
 public:
  // Writes and syncs the temporary file. Destruction removes it unless Put has succeeded.
  static Result<PreparedFile> Write(const std::string& path, std::string_view content,
                                    mode_t mode = 0600);
  PreparedFile(PreparedFile&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  PreparedFile& operator=(PreparedFile&&) = delete;
  ~PreparedFile();

  // Renames it to its path. Call once. A crash may undo this until SyncDirectory.
  Status Put();

 private:
  explicit PreparedFile(std::string path) : path_(std::move(path)) {}
  std::string path_;  // empty: in place, or moved from
};
void SyncDirectory(const std::string& path);
// Opens an existing file. Symbolic links are not followed.
Result<Fd> OpenToAppend(const std::string& path);
Status Append(const Fd& fd, std::string_view content, const std::string& path);
// lstat: does not follow symbolic links. kNotFound if the path does not exist.
Result<FileInfo> Inspect(const std::string& path);
// stat: follows symbolic links.
Result<FileInfo> InspectTarget(const std::string& path);
bool Exists(const std::string& path);
// Resolves `path`, which is below the directory `root`, as a process with `root` as its "/" would:
// absolute links start at `root`. Returns `path` itself if its links form a cycle.
std::string FollowBelow(const std::string& root, const std::string& path);
// Whether both paths are on the same mount: no mount point lies at or between them. False if the
// kernel cannot tell (before 5.8).
bool OnSameMount(const std::string& a, const std::string& b);
// Sorted names (not paths) in a directory, without "." and "..".
Result<std::vector<std::string>> ListDirectory(const std::string& path);
// Creates the directory and its missing parents.
Status MakeDirectories(const std::string& path, mode_t mode = 0750);
// The target of a symbolic link. kNotFound if there is no link.
Result<std::string> ReadLink(const std::string& path);
// Creates a symbolic link, or replaces a link or file by it, atomically.
Status ReplaceLink(const std::string& path, const std::string& target);
// A missing file is success.
Status RemoveFile(const std::string& path);
// Removes a directory with any content, even if directory modes forbid it, where this process may
// change them (tree.h). Entries that cannot be removed stay, and the error has the reason.
Status RemoveTree(const std::string& path);
// Creates a new directory "PREFIXxxxxxx", mode 0700.
Result<std::string> MakeTemporaryDirectory(const std::string& prefix);
// The kernel's boot id, which changes at every boot.
Result<std::string> ReadBootId();

// A prefix for absolute paths: "" in production, a temporary tree in tests.
class Root {
 public:
  Root() = default;
  explicit Root(std::string prefix) : prefix_(std::move(prefix)) {}
  std::string Path(std::string_view absolute) const { return prefix_ + std::string(absolute); }
  // The path without the prefix, as users know it.
  std::string WithoutPrefix(std::string_view path) const;
  const std::string& prefix() const { return prefix_; }

 private:
  std::string prefix_;
};

}  // namespace tessera::os
