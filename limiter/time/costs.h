// SPDX-License-Identifier: Apache-2.0
// The costs of kernels, learned from measured runs. A process's own; any thread, without a lock;
// valid when it is all zeros. A kernel whose place another one needs is forgotten and learned
// again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tessera::limiter {

// Who else may have had the device during a measured run, so that the run waited.
enum class Company : uint8_t {
  kNone,
  kSiblings,    // other processes of the container
  kNeighbours,  // other containers
  kUnknown,     // other containers, or none
};

// The cost of a kernel with its grid and block, or of a graph.
class Cost {
 public:
  uint64_t ns() const { return ns_.load(std::memory_order_relaxed); }  // 0: not known
  // Learns from one run. `took`: its time, with its waits for others. `busy`: the part in which the
  // device was not busy for the container anyway. In company, only runs that hardly waited show the
  // cost. If company is unknown, much longer runs than others reveal it.
  void Learn(uint64_t took, uint64_t busy, Company company);
  void Learn(uint64_t ns) { Learn(ns, ns, Company::kNone); }
  // Learns from a run without neighbours; among neighbours the kernel costs that from then on.
  // False: such runs need no calibration.
  bool Calibrate(uint64_t ns, uint64_t now);
  // True if its runs wait for neighbours or share time slices with them, and their cost alone is
  // unknown or old.
  bool IsToBeCalibrated(uint64_t now) const;
  // ns that its runs take in company.
  uint64_t took() const { return means_[kNear].load(std::memory_order_relaxed); }
  // True if its runs wait for other containers.
  bool waits() const { return waits_.load(std::memory_order_relaxed); }
  // True for a collective, whose kernels on several devices wait for each other.
  bool is_collective() const { return is_collective_.load(std::memory_order_relaxed); }
  void SayCollective() { is_collective_.store(true, std::memory_order_relaxed); }
  // True for one launch in 16, which is measured. Chosen at random: a program that could predict
  // them could make only those short.
  bool IsTurn() {
    const uint32_t lot = lot_.load(std::memory_order_relaxed) * 1664525 + 1013904223;
    lot_.store(lot, std::memory_order_relaxed);
    return lot >> 28 == 0;
  }

 private:
  friend class Costs;
  void Clear();
  void ShuffleLots();
  // Distance from the shortest run.
  enum Distance { kNear, kClose, kSame, kDistances };
  uint64_t Shortest() const;
  void LearnShortest(uint64_t ns);
  uint64_t LearnAlone(uint64_t ns, uint32_t runs);
  uint64_t CostAmongNeighbours(uint64_t alone) const;
  bool IsLong() const;

  std::atomic<uint64_t> key_;
  std::atomic<uint64_t> ns_;
  std::atomic<uint32_t> lot_;
  std::atomic<uint64_t> mean_;      // of the busy time
  std::atomic<uint64_t> shortest_;  // in this period of runs, and in the one before
  std::atomic<uint64_t> shortest_before_;
  std::atomic<uint64_t> means_[kDistances];   // of the runs within each distance,
  std::atomic<uint64_t> shares_[kDistances];  // and their part of the runs within the next
  std::atomic<uint64_t> calibrated_;          // mean of calibrated runs; 0: none
  std::atomic<uint64_t> calibrated_at_;       // the last one, in ns of the monotonic clock,
  std::atomic<uint64_t> near_then_;           // and what other runs took then
  std::atomic<uint32_t> steady_;              // how often the result stayed the same
  std::atomic<uint32_t> measured_;
  std::atomic<uint32_t> of_period_;
  std::atomic<bool> waits_;
  std::atomic<bool> is_collective_;
};

class Costs {
 public:
  // Never null. Threads that race for one place may learn each other's run, which evens out.
  Cost* Find(uint64_t key);
  void Forget(uint64_t key);

 private:
  static constexpr size_t kPlaces = 1 << 15;
  static constexpr size_t kTries = 8;
  Cost costs_[kPlaces];
};

// Mixes a part into a key.
inline uint64_t Mixed(uint64_t key, uint64_t part) {
  key = (key ^ part) * 0x9e3779b97f4a7c15;
  return key ^ key >> 32;
}

}  // namespace tessera::limiter
