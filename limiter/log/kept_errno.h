// SPDX-License-Identifier: Apache-2.0
// Keeps the calling thread's errno: it is the program's, and no call of this library may change it.
#pragma once

#include <errno.h>

namespace tessera::limiter {

// Restores errno at the end of its lifetime.
class KeptErrno {
 public:
  KeptErrno() : error_(errno) {}
  ~KeptErrno() { errno = error_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  int error_;
};

}  // namespace tessera::limiter
