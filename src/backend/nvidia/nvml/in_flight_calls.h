// SPDX-License-Identifier: Apache-2.0
// The calls in flight of one open NVML library. An observer keeps this object instead of the
// library, as the library's last owner has to close it. Any thread.
#pragma once

#include <set>

#include "base/mutex.h"

namespace tessera::nvml {

class InFlightCalls {
 public:
  // A call about the GPU of this index begins or ends.
  void Begin(unsigned gpu) {
    const MutexLock lock(mutex_);
    gpus_.insert(gpu);
  }
  void End(unsigned gpu) {
    const MutexLock lock(mutex_);
    gpus_.erase(gpus_.find(gpu));
  }
  std::set<unsigned> gpus() const {
    const MutexLock lock(mutex_);
    return {gpus_.begin(), gpus_.end()};
  }

  // The library is unloaded.
  void Close() {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  bool closed() const {
    const MutexLock lock(mutex_);
    return closed_;
  }

 private:
  mutable Mutex mutex_;
  std::multiset<unsigned> gpus_ TESSERA_GUARDED_BY(mutex_);
  bool closed_ TESSERA_GUARDED_BY(mutex_) = false;
};

}  // namespace tessera::nvml
