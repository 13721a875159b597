// SPDX-License-Identifier: Apache-2.0
// For tests of who opens what. Header-only.
#pragma once

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>

#include "os/fd.h"

namespace tessera::os {

// Whether anybody has opened it since this was made.
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

// /dev/urandom's number, as a container may make it. False: this user may make no device node.
inline bool MakeDevice(const std::string& path) {
  return mknod(path.c_str(), S_IFCHR | 0666, makedev(1, 9)) == 0;
}

}  // namespace tessera::os
