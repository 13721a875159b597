// SPDX-License-Identifier: Apache-2.0
// The first GPU, in a process that is linked with the driver: a context, and kernels that say when
// they ran. What fails is a row of trouble, and ends the process. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/driver/cuda.h"

namespace tessera::card {

// Of CLOCK_MONOTONIC, in ns.
uint64_t Now();

// What rows of trouble are named by, from here on.
void NameTrouble(std::string_view name);
void Check(CUresult result, std::string_view what);

// PTX of the kernels. `work_spin` does a given work, so that a process that has the GPU half of the
// time takes twice as long; `gaps_spin` runs for a given time and notes when it did not; `empty`
// does nothing.
extern const char kKernels[];

// A kernel as told: `rounds` of work on a real card, `ns` on a simulated one, that computes
// nothing.
struct Work {
  uint64_t ns;
  uint64_t rounds;
};

class Gpu {
 public:
  Gpu();

  // Takes the multiprocessors whole. With an address of two words, it leaves its begin and its end
  // there, by %globaltimer.
  void Launch(Work work, CUdeviceptr stamps = 0);
  // One thread that runs for so long.
  void LaunchGaps(uint64_t ns, CUdeviceptr out, uint64_t most);
  void Wait();
  // By events around it.
  double MicrosecondsOf(Work work, CUdeviceptr stamps = 0);
  // How many rounds a ns takes, now.
  double RoundsPerNs();

  CUdeviceptr Allocate(size_t words);  // zeros
  std::vector<uint64_t> Read(CUdeviceptr from, size_t words);
  std::string Uuid() const;

 private:
  CUdevice device_ = 0;
  unsigned blocks_ = 1;
  CUfunction work_ = nullptr;
  CUfunction gaps_ = nullptr;
  CUevent begin_ = nullptr;
  CUevent end_ = nullptr;
};

}  // namespace tessera::card
