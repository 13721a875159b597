// SPDX-License-Identifier: Apache-2.0
#include "os/lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace tessera::os {

Result<FileLock> FileLock::Take(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return Fail(SystemError("cannot open " + path, errno));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return FileLock(std::move(fd));
  if (errno == EWOULDBLOCK) {
    return Fail(Reason::kStateLocked, "{} is locked by another process", path);
  }
  return Fail(SystemError("cannot lock " + path, errno));
}

}  // namespace tessera::os
