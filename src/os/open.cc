// SPDX-License-Identifier: Apache-2.0
#include "os/open.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>

namespace tessera::os {
namespace {

constexpr int kLook = O_PATH | O_CLOEXEC;
// O_NONBLOCK: do not wait for the holder of a lease on the file.
constexpr int kOpen = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

// The entry `name` of the directory itself, without following it. On failure not valid(); see
// errno.
Fd Beneath(const Fd& directory, const std::string& name, int flags) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_NOFOLLOW | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const auto fd = syscall(SYS_openat2, directory.get(), name.c_str(), &how, sizeof how);
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return Fd(static_cast<int>(fd));
  // Without openat2 (before Linux 5.6, or under an old seccomp filter): a single name is safe,
  // since O_NOFOLLOW follows no link.
  if (name.find('/') != std::string::npos) {
    errno = EXDEV;
    return {};
  }
  return Fd(openat(directory.get(), name.c_str(), static_cast<int>(how.flags)));
}

Result<Fd> OpenSeen(const Fd& seen, int access, const std::string& path) {
  struct stat info{};
  if (fstat(seen.get(), &info) != 0) return Fail(SystemError("cannot look at " + path, errno));
  if (S_ISLNK(info.st_mode)) {
    return Fail(Reason::kIo, "{} is a symbolic link, which is not followed", path);
  }
  if (!S_ISREG(info.st_mode)) return Fail(Reason::kIo, "{} is not a regular file", path);
  const std::string own = fmt::format("/proc/self/fd/{}", seen.get());
  Fd fd(open(own.c_str(), access | kOpen));
  if (fd.valid()) return fd;
  if (errno == ENOENT) return Fail(Reason::kIo, "cannot open {}: there is no {}", path, own);
  return Fail(SystemError("cannot open " + path, errno));
}

}  // namespace

Result<Fd> OpenFile(const std::string& path, int access, Links links) {
  const Fd seen(open(path.c_str(), links == Links::kRefused ? kLook | O_NOFOLLOW : kLook));
  if (!seen.valid()) return Fail(SystemError("cannot open " + path, errno));
  return OpenSeen(seen, access, path);
}

Result<Fd> OpenFileIn(const Fd& directory, const std::string& name, int access,
                      const std::string& called) {
  const Fd seen = Beneath(directory, name, kLook);
  if (!seen.valid()) return Fail(SystemError("cannot open " + called, errno));
  return OpenSeen(seen, access, called);
}

// With O_DIRECTORY the kernel opens directories only.
Result<Fd> OpenDirectoryIn(const Fd& directory, const std::string& name,
                           const std::string& called) {
  Fd fd = Beneath(directory, name, O_RDONLY | O_DIRECTORY);
  if (!fd.valid()) return Fail(SystemError("cannot open " + called, errno));
  return fd;
}

}  // namespace tessera::os
