// SPDX-License-Identifier: Apache-2.0
// An exclusive lock on a file (flock). The kernel releases it when the process ends, however it
// ends.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "os/fd.h"

namespace tessera::os {

class FileLock {
 public:
  // kStateLocked if another process holds it. Does not wait.
  static Result<FileLock> Take(const std::string& path);
  // As Take, but waits up to `patience`.
  static Result<FileLock> TakeWithin(const std::string& path, Duration patience);

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace tessera::os
