// SPDX-License-Identifier: Apache-2.0
// A container's region (limiter/contract.h), read and written in place while the container runs.
// Nothing is mapped: the container may make it shorter at any time. Any one thread at a time.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "os/fd.h"

namespace tessera {

// The region that a thread reads or writes, for who watches whether it waits there. A container may
// hold it up: while a write of its own is at a file, the kernel lets nobody else write it, and on
// some file systems read it. Any thread.
class RegionVisits {
 public:
  // Before each. False: the thread is to touch none any more.
  bool EnterRegion(const std::string& path);
  // It is at none by now.
  void LeaveRegion();
  // Where it is; empty: at none.
  std::string CurrentRegion() const;
  void Stop();

 private:
  mutable Mutex mutex_;
  std::string at_ TESSERA_GUARDED_BY(mutex_);
  bool stopped_ TESSERA_GUARDED_BY(mutex_) = false;
};

class FollowedRegion {
 public:
  // By its one name in a directory that the container writes in: nothing outside of it is opened.
  // Not valid() if it is not there, or not as this agent makes them. Who opens it is seen at it,
  // where anybody looks.
  static FollowedRegion Open(const std::string& directory, const std::string& name,
                             std::shared_ptr<RegionVisits> visits = nullptr);

  bool valid() const { return file_.valid(); }
  // Nobody but this process has the file, and it takes more of the disk than a region.
  bool IsWaste() const;
  template <class T>
  bool Read(size_t offset, T& value) const {
    return ReadBytes(offset, &value, sizeof value);
  }
  bool ReadBytes(size_t offset, void* to, size_t size) const {
    return Visit() &&
           pread(file_.get(), to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }
  template <class T>
  void Write(size_t offset, const T& value) const {
    if (Visit()) (void)!pwrite(file_.get(), &value, sizeof value, static_cast<off_t>(offset));
  }

 private:
  bool Visit() const { return visits_ == nullptr || visits_->EnterRegion(path_); }

  std::string path_;
  std::shared_ptr<RegionVisits> visits_;
  os::Fd file_;
};

}  // namespace tessera
