// SPDX-License-Identifier: Apache-2.0
// One cell of the limiter's accuracy: containers whose processes launch kernels of one length as
// fast as they are let, and the share of a simulated GPU's time that each gets. The simulation
// tells how long the GPU was busy with whose kernels, in windows of a second. One thread.
//
// A kernel has a block for each multiprocessor, and takes as long on a GPU of any size: the engine
// simulates time, not blocks. So the size changes what a limiter reads or counts, as HAMi-core's
// does, which takes blocks for what a kernel costs; not what a kernel takes of the GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shares/score.h"

namespace tessera::limiter {

struct CellSettings {
  int seconds = 5;                       // windows
  int warm = 5;                          // seconds before the first
  std::string driver = "context-mib=0";  // the fake driver's options (test/cuda/node.h)
  int multiprocessors = 132;             // of the GPU
  bool agent = false;                    // tells containers how long others had the GPU
};

struct CellContainer {
  int percent;  // 0: without the limiter
  int processes = 1;
  int idle = 0;  // and so many more that only have a context
};

// Of each container, in their order. `ns`: what a kernel takes.
std::vector<Windows> MeasureCell(uint64_t ns, const std::vector<CellContainer>& containers,
                                 const CellSettings& settings);

}  // namespace tessera::limiter
