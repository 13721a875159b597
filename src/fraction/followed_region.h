// SPDX-License-Identifier: Apache-2.0
// A container's region (limiter/contract.h), read and written in place while the container runs. It
// is not mapped, because the container may truncate it at any time. Owned by GrantTimes. One thread
// at a time.
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

// Says which region a thread is at, for the thread that watches whether it is stuck there. A
// container can block it: while the container writes a file, the kernel lets no other process write
// it, and on some file systems read it. Shared by both threads. Any thread.
class RegionVisits {
 public:
  // Called before each access. False: the thread must touch no more regions.
  bool EnterRegion(const std::string& path);
  // The thread has left the region.
  void LeaveRegion();
  // The region that the thread is at; empty: none.
  std::string CurrentRegion() const;
  void Stop();

 private:
  mutable Mutex mutex_;
  std::string at_ TESSERA_GUARDED_BY(mutex_);
  bool stopped_ TESSERA_GUARDED_BY(mutex_) = false;
};

class FollowedRegion {
 public:
  // Opens a region by its name in a directory that the container writes in; follows no link out of
  // it. Not valid() if it is missing, or is not as this agent makes regions. `visits`, if any, gets
  // each access.
  static FollowedRegion Open(const std::string& directory, const std::string& name,
                             std::shared_ptr<RegionVisits> visits = nullptr);

  bool valid() const { return file_.valid(); }
  // Whether the file has no name any more, and takes more disk than two regions.
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
