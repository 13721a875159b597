// SPDX-License-Identifier: Apache-2.0
// What kernels cost, learned from those that were measured. A process's own; any thread, without a
// lock. Good when it is all zeros. A kernel whose place another one needs is forgotten, and learned
// again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tessera::limiter {

// Who else may have had the device while a run was measured, for which it then waited.
enum class Company : uint8_t {
  kNone,
  kSiblings,    // other processes of the container
  kNeighbours,  // other containers
  kUnknown,     // other containers, or nobody
};

// A kernel with a grid and a block, or a graph.
class Cost {
 public:
  uint64_t ns() const { return ns_.load(std::memory_order_relaxed); }  // 0: not known
  // What one run was measured to take, with what it waited for others, and for how much of that the
  // device was not busy for the container anyway. In company only what runs that hardly waited took
  // tells what it costs; where nobody knows of any company, runs tell of it that take so much
  // longer than others.
  void Learn(uint64_t took, uint64_t busy, Company company);
  void Learn(uint64_t ns) { Learn(ns, ns, Company::kNone); }
  // What one run took while no neighbour's ran: among neighbours it costs that from now on. False:
  // it is none whose runs are told from their waiting so.
  bool Calibrate(uint64_t ns, uint64_t now);
  // Its runs wait for neighbours or take turns with them, and what they take alone is not known, or
  // was learned long ago.
  bool IsToBeCalibrated(uint64_t now) const;
  // What such runs take beside others; ns.
  uint64_t took() const { return means_[kNear].load(std::memory_order_relaxed); }
  // Its runs wait for other containers.
  bool waits() const { return waits_.load(std::memory_order_relaxed); }
  // It is part of a collective, whose kernels on several devices wait for each other.
  bool is_collective() const { return is_collective_.load(std::memory_order_relaxed); }
  void SayCollective() { is_collective_.store(true, std::memory_order_relaxed); }
  // Whether this launch is one of the 16th part that is measured. Drawn by lot: a program that knew
  // which ones are could have only those be short.
  bool IsTurn() {
    const uint32_t lot = lot_.load(std::memory_order_relaxed) * 1664525 + 1013904223;
    lot_.store(lot, std::memory_order_relaxed);
    return lot >> 28 == 0;
  }

 private:
  friend class Costs;
  void Clear();
  void ShuffleLots();
  // How far from the shortest.
  enum Distance { kNear, kClose, kSame, kDistances };
  uint64_t Shortest() const;
  void LearnShortest(uint64_t ns);
  uint64_t LearnAlone(uint64_t ns, uint32_t runs);
  uint64_t CostAmongNeighbours(uint64_t alone) const;
  bool IsLong() const;

  std::atomic<uint64_t> key_;
  std::atomic<uint64_t> ns_;
  std::atomic<uint32_t> lot_;
  std::atomic<uint64_t> mean_;      // of what the device was busy
  std::atomic<uint64_t> shortest_;  // of this period of runs, and of the one before it
  std::atomic<uint64_t> shortest_before_;
  std::atomic<uint64_t> means_[kDistances];   // of the runs that are no farther,
  std::atomic<uint64_t> shares_[kDistances];  // and how many of the next farther ones these are
  std::atomic<uint64_t> calibrated_;          // mean of what was calibrated; 0: nothing was
  std::atomic<uint64_t> calibrated_at_;       // when it last was, in ns of the monotonic clock,
  std::atomic<uint64_t> near_then_;           // and what runs took by then
  std::atomic<uint32_t> steady_;              // how often it came to the same since it was another
  std::atomic<uint32_t> measured_;
  std::atomic<uint32_t> of_period_;
  std::atomic<bool> waits_;
  std::atomic<bool> is_collective_;
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
