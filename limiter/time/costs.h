// SPDX-License-Identifier: Apache-2.0
// What kernels cost, learned from those that were measured. A process's own; any thread, without a
// lock. Good when it is all zeros. A kernel whose place another one needs is forgotten, and learned
// again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tessera::limiter {

// A kernel with a grid and a block, or a graph.
class Cost {
 public:
  uint64_t ns() const { return ns_.load(std::memory_order_relaxed); }  // 0: not known
  // What one run was measured to take.
  void Learn(uint64_t ns);
  // Likewise, but it may have waited for other processes: one that took half as long again as the
  // shortest of late has, and is not learned from.
  void LearnAmongOthers(uint64_t ns);
  // Whether this launch is one of the 16th part that is measured; no rhythm of the program's
  // falls in with which ones.
  bool IsTurn() {
    const uint32_t launch = launches_.load(std::memory_order_relaxed) + 1;
    launches_.store(launch, std::memory_order_relaxed);
    return launch * 0x9e3779b9u >> 28 == 0;
  }

 private:
  friend class Costs;
  void Clear();

  std::atomic<uint64_t> key_;
  std::atomic<uint64_t> ns_;
  std::atomic<uint64_t> shortest_;  // of late; among others
  std::atomic<uint32_t> launches_;
  std::atomic<uint32_t> measured_;
};

class Costs {
 public:
  // Never null. Threads that come at once with keys of the same place may learn each other's run,
  // which evens out.
  Cost* Find(uint64_t key);
  void Forget(uint64_t key);

 private:
  static constexpr size_t kPlaces = 1 << 15;
  static constexpr size_t kTries = 8;
  Cost costs_[kPlaces];
};

// Keys: what each part is mixed into.
inline uint64_t Mixed(uint64_t key, uint64_t part) {
  key = (key ^ part) * 0x9e3779b97f4a7c15;
  return key ^ key >> 32;
}

}  // namespace tessera::limiter
