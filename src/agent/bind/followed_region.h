// SPDX-License-Identifier: Apache-2.0
// A container's region (limiter/contract.h), read and written in place while the container runs.
// Nothing is mapped: the container may make it shorter at any time. Any one thread at a time.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>

#include "os/fd.h"

namespace tessera::agent {

class FollowedRegion {
 public:
  // By its one name in a directory that the container writes in: nothing outside of it is opened.
  // Not valid() if it is not there, or not as this agent makes them.
  static FollowedRegion Open(const std::string& directory, const std::string& name);

  bool valid() const { return file_.valid(); }
  template <class T>
  bool Read(size_t offset, T& value) const {
    return ReadBytes(offset, &value, sizeof value);
  }
  bool ReadBytes(size_t offset, void* to, size_t size) const {
    return pread(file_.get(), to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }
  template <class T>
  void Write(size_t offset, const T& value) const {
    (void)!pwrite(file_.get(), &value, sizeof value, static_cast<off_t>(offset));
  }

 private:
  os::Fd file_;
};

}  // namespace tessera::agent
