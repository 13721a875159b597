// SPDX-License-Identifier: Apache-2.0
// An exclusive lock on a file (flock): held until destroyed or the process ends, however it ends.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "os/fd.h"

namespace tessera::os {

class FileLock {
 public:
  // kStateLocked when another process holds it; does not wait.
  static Result<FileLock> Take(const std::string& path);
  // As Take, but waits so long for it.
  static Result<FileLock> TakeWithin(const std::string& path, Duration patience);

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace tessera::os
