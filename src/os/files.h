// SPDX-License-Identifier: Apache-2.0
// Files as the agent needs them: whole reads, writes that a crash cannot tear, listings. Paths
// given to Root are absolute and resolved below its prefix, so that tests bring their own /sys,
// /dev and /var. Any thread; nothing is cached.
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

// What stat says of a path, as far as it is of use here.
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
  int64_t changed_ns = 0;  // ctime: with device and inode it tells a file from its successor
  dev_t rdev = 0;          // of a device node
  mode_t mode = 0;         // permission bits
  nlink_t links = 0;
  bool operator==(const FileInfo&) const = default;
};

// The whole of a regular file, or its first `most` bytes. Anything else at that path (a pipe, a
// directory, a device) is kIo at once: reading it might never end.
Result<std::string> ReadFile(const std::string& path, size_t most = SIZE_MAX);
// Writes `content` to a temporary file in the same directory, syncs and renames it to `path`, and
// syncs the directory: after a crash the file is the old one or the new one, whole. Refuses to
// replace anything but a regular file.
Status WriteFileAtomically(const std::string& path, std::string_view content, mode_t mode = 0600);
// As WriteFileAtomically without syncing, for what need not outlive the kernel: quick, and whole
// for whoever reads it after this process was killed.
Status ReplaceFile(const std::string& path, std::string_view content, mode_t mode = 0600);
// WriteFileAtomically in two steps, for several files of a directory at once, whose threads wait
// for the disk together. No two threads at once for the same file.
class PreparedFile {
 public:
  // On the disk, under a temporary name; removed again unless it is put in its place.
  static Result<PreparedFile> Write(const std::string& path, std::string_view content,
                                    mode_t mode = 0600);
  PreparedFile(PreparedFile&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  PreparedFile& operator=(PreparedFile&&) = delete;
  ~PreparedFile();

  // Once. What is read from then on; a crash may undo it until the directory is synced.
  Status Put();

 private:
  explicit PreparedFile(std::string path) : path_(std::move(path)) {}
  std::string path_;  // empty: it is in its place, or somebody else's
};
void SyncDirectory(const std::string& path);
// Opens a file that is there; symbolic links are not followed.
Result<Fd> OpenToAppend(const std::string& path);
Status Append(const Fd& fd, std::string_view content, const std::string& path);
// lstat: symbolic links are not followed. kNotFound when nothing is there.
Result<FileInfo> Inspect(const std::string& path);
// stat: symbolic links are followed.
Result<FileInfo> InspectTarget(const std::string& path);
bool Exists(const std::string& path);
// Where `path`, which is below the directory `root`, leads for who has `root` as its "/": there an
// absolute symbolic link does not mean ours. `path` itself when its links go round in a circle.
std::string FollowBelow(const std::string& root, const std::string& path);
// Whether both are seen through the same mount: nothing is mounted at one of them, or between them.
// False where the kernel does not say (before 5.8).
bool OnSameMount(const std::string& a, const std::string& b);
// Names (not paths) in a directory, sorted, without "." and "..".
Result<std::vector<std::string>> ListDirectory(const std::string& path);
// Makes the directory and its missing parents.
Status MakeDirectories(const std::string& path, mode_t mode = 0750);
// What a symbolic link says; kNotFound where there is none.
Result<std::string> ReadLink(const std::string& path);
// Puts a symbolic link in place of one, or of a file, or of nothing, in one step.
Status ReplaceLink(const std::string& path, const std::string& target);
// Removing what is not there is fine.
Status RemoveFile(const std::string& path);
// Whatever is in it, and whatever modes its directories have that this process may change (tree.h).
// What cannot be removed stays, without the rest; the error says why.
Status RemoveTree(const std::string& path);
// A fresh directory "PREFIXxxxxxx", mode 0700.
Result<std::string> MakeTemporaryDirectory(const std::string& prefix);
// The kernel's boot id: another one means that the node has booted since.
Result<std::string> ReadBootId();

// A prefix under which absolute paths are looked up: "" in production, a temporary tree in tests.
class Root {
 public:
  Root() = default;
  explicit Root(std::string prefix) : prefix_(std::move(prefix)) {}
  std::string Path(std::string_view absolute) const { return prefix_ + std::string(absolute); }
  // The path as the rest of the world knows it: without the prefix.
  std::string WithoutPrefix(std::string_view path) const;
  const std::string& prefix() const { return prefix_; }

 private:
  std::string prefix_;
};

}  // namespace tessera::os
