// SPDX-License-Identifier: Apache-2.0
// Any thread.
#pragma once

#include <errno.h>
#include <unistd.h>

#include <cstddef>

namespace tessera::limiter {

// Reads up to `size` bytes of a file; -1: an error.
inline ssize_t ReadAll(int file, char* buffer, size_t size) {
  size_t have = 0;
  while (have < size) {
    const ssize_t got = read(file, buffer + have, size - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(have);
}

}  // namespace tessera::limiter
