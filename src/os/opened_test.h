// SPDX-License-Identifier: Apache-2.0
// Helpers to test which files are opened. Header-only.
#pragma once

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>

#include "os/fd.h"

namespace tessera::os {

// Detects any open of a file since construction.
class OpenWatch {
 public:
  explicit OpenWatch(const std::string& path) {
    EXPECT_GE(inotify_add_watch(watch_.get(), path.c_str(), IN_OPEN), 0) << path;
  }
  bool was_opened() const {
    alignas(inotify_event) char events[4096];
    return read(watch_.get(), events, sizeof events) > 0;
  }

 private:
  const Fd watch_{inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
};

// Makes a device node with /dev/urandom's number, as a container may. False if this user may not.
inline bool MakeDevice(const std::string& path) {
  return mknod(path.c_str(), S_IFCHR | 0666, makedev(1, 9)) == 0;
}

}  // namespace tessera::os
