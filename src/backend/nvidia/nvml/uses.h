// SPDX-License-Identifier: Apache-2.0
// What an open NVML is used for at this moment: known also to whoever must not hold the library
// itself, because the last who lets go of it closes it. Any thread.
#pragma once

#include <mutex>
#include <set>

namespace tessera::nvml {

class Uses {
 public:
  // Calls about this GPU, by index, begin and end.
  void Begin(unsigned gpu) {
    std::lock_guard lock(mutex_);
    gpus_.insert(gpu);
  }
  void End(unsigned gpu) {
    std::lock_guard lock(mutex_);
    gpus_.erase(gpus_.find(gpu));
  }
  std::set<unsigned> gpus() const {
    std::lock_guard lock(mutex_);
    return {gpus_.begin(), gpus_.end()};
  }

  // The library is unloaded.
  void Close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  bool closed() const {
    std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  mutable std::mutex mutex_;
  std::multiset<unsigned> gpus_;  // under mutex_, as what follows
  bool closed_ = false;
};

}  // namespace tessera::nvml
