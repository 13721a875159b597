// SPDX-License-Identifier: Apache-2.0
#include "os/lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <thread>

#include "os/open.h"

namespace tessera::os {
namespace {

Result<Fd> OpenOrMake(const std::string& path) {
  Fd made(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (made.valid()) return made;
  if (errno != EEXIST) return Fail(SystemError("cannot open " + path, errno));
  return OpenFile(path, O_RDWR, Links::kRefused);
}

}  // namespace

Result<FileLock> FileLock::Take(const std::string& path) {
  Fd fd = TRY(OpenOrMake(path));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return FileLock(std::move(fd));
  if (errno == EWOULDBLOCK) {
    return Fail(Reason::kStateLocked, "{} is locked by another process", path);
  }
  return Fail(SystemError("cannot lock " + path, errno));
}

// Polls, because flock itself would wait forever, for example for a stopped process.
Result<FileLock> FileLock::TakeWithin(const std::string& path, Duration patience) {
  constexpr Duration kBetween{1};
  const Steady end = SystemClock().Now() + patience;
  for (;;) {
    auto lock = Take(path);
    const bool taken = !lock && lock.error().reason == Reason::kStateLocked;
    if (!taken || SystemClock().Now() >= end) return lock;
    std::this_thread::sleep_for(kBetween);
  }
}

}  // namespace tessera::os
