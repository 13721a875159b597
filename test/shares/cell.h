// SPDX-License-Identifier: Apache-2.0
// One cell in the table of the limiter's accuracy. Processes of some containers launch kernels of
// one length as fast as the limiter lets them. The simulated GPU measures each process's busy time;
// a cell is each container's share of it, in windows of a second. One thread.
//
// A kernel has one block for each multiprocessor. It takes the same time on a GPU of any size,
// because the engine simulates time, not blocks. The size only changes what a limiter reads or
// counts: HAMi-core's takes the number of blocks for a kernel's cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shares/score.h"

namespace tessera::limiter {

struct CellSettings {
  int seconds = 5;                       // the number of windows
  int warm = 5;                          // seconds before the first window
  std::string driver = "context-mib=0";  // the fake driver's options (test/cuda/node.h)
  int multiprocessors = 132;             // of the GPU
  bool agent = false;                    // an Agent reports the containers' GPU time
};

struct CellContainer {
  int percent;        // its limit of GPU time; 0: without the limiter
  int processes = 1;  // that launch all the time
  int idle = 0;       // further ones, which launch once and then keep only their context
};

// Returns the shares of each container, in their order. `ns`: the length of a kernel. Takes `warm`
// plus `seconds` seconds.
std::vector<Windows> MeasureCell(uint64_t ns, const std::vector<CellContainer>& containers,
                                 const CellSettings& settings);

}  // namespace tessera::limiter
