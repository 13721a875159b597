// SPDX-License-Identifier: Apache-2.0
// Modules' kernels, and their launches. A module owns its functions. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "cuda/streams.h"

struct CUfunc_st {
  CUmodule module = nullptr;
  std::string name;
  bool spins = false;  // runs for as many ns as its first argument, a u64, says
};

namespace tessera::fake_cuda {

// One launch with its arguments.
struct Launch {
  CUfunction function = nullptr;
  unsigned grid[3] = {};
  unsigned block[3] = {};
  unsigned shared = 0;
  uint64_t ns = 0;
  CUcontext context = nullptr;  // in which it runs; null: the stream's
};

// The context in which the function's module was loaded.
CUcontext ContextOf(CUfunction function);
// Loads the function's code if it is not loaded yet. False: the card has no room for it.
bool HasCode(CUfunction function);
// Reads the arguments of any launching function. False: they are invalid.
bool ReadArguments(Launch& launch, void** parameters, void** extra);
// Launches in the stream. If the stream is captured, adds the launch to the graph.
CUresult Put(const Launch& launch, CUstream stream);

}  // namespace tessera::fake_cuda
