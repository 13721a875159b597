// SPDX-License-Identifier: Apache-2.0
#include "backend/file/directory_nodes.h"

#include <filesystem>
#include <system_error>

#include "backend/file/sysfs.h"

namespace tessera::file {
namespace {

namespace fs = std::filesystem;
using Type = os::FileInfo::Type;

// Files that are no nodes count too, so that a walk always ends.
constexpr size_t kMaxEntries = 4096;

class Walk {
 public:
  // `top` is no symbolic link.
  Walk(const os::Root& root, std::string named, std::string top)
      : root_(root), named_(std::move(named)), top_(std::move(top)) {}

  Result<DirectoryNodes> Run() && {
    TRY(Enter("", 0));
    return std::move(found_);
  }

 private:
  Status Enter(const std::string& below, size_t depth) {
    const std::string directory = top_ + below;
    if (depth > kMaxDirectoryDepth) {
      return Fail(Reason::kInvalid, "{} has more than {} levels of directories below it: {}",
                  named_, kMaxDirectoryDepth, directory);
    }
    auto names = os::ListDirectory(root_.Path(directory));
    if (!names && names.error().reason == Reason::kNotFound && depth > 0) return {};
    if (!names) return Fail(names.error());
    found_.directories.push_back(directory);
    for (const std::string& name : *names) TRY(Add(below + "/" + name, depth));
    return {};
  }

  Status Add(const std::string& below, size_t depth) {
    if (++entries_ > kMaxEntries) {
      return Fail(Reason::kInvalid, "{} has more than {} files below it", named_, kMaxEntries);
    }
    std::string host = top_ + below;
    auto info = os::Inspect(root_.Path(host));
    if (!info) return {};  // it was removed during the walk
    if (info->type == Type::kDirectory) return Enter(below, depth + 1);
    if (info->type == Type::kSymlink) {
      std::error_code error;
      host = root_.WithoutPrefix(fs::canonical(root_.Path(host), error).string());
      if (error || !host.starts_with(top_ + "/")) return {};
      info = os::Inspect(root_.Path(host));
      if (!info) return {};
    }
    if (!IsDeviceNode(info->type)) return {};
    if (found_.nodes.size() == kMaxDirectoryNodes) {
      return Fail(Reason::kInvalid,
                  "{} has more than {} device nodes below it: name a directory with fewer", named_,
                  kMaxDirectoryNodes);
    }
    found_.nodes.push_back({below.substr(1), std::move(host), *info});
    return {};
  }

  const os::Root& root_;
  const std::string named_;
  const std::string top_;
  size_t entries_ = 0;
  DirectoryNodes found_;
};

}  // namespace

Result<DirectoryNodes> NodesBelow(const os::Root& root, const std::string& directory) {
  std::error_code error;
  const fs::path real = fs::canonical(root.Path(directory), error);
  if (error) {
    return Fail(Reason::kNotFound, "cannot look into {}: {}", directory, error.message());
  }
  std::string top = root.WithoutPrefix(real.string());
  if (top == "/" || top == "/dev") {
    return Fail(Reason::kInvalid,
                "{} has the device nodes of the whole node below it: name a directory in /dev",
                directory);
  }
  return Walk(root, directory, std::move(top)).Run();
}

}  // namespace tessera::file
