// SPDX-License-Identifier: Apache-2.0
// The calling thread's errno is the program's: no call of the library's leaves another one.
#pragma once

#include <errno.h>

namespace tessera::limiter {

// As it was, at the end of its life.
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
