// SPDX-License-Identifier: Apache-2.0
// Modules with their kernels, and how long a launch of one takes. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "cuda/streams.h"

struct CUfunc_st {
  CUmodule module = nullptr;
  std::string name;
  bool spins = false;  // for as many ns as its first argument, an u64, says
};

namespace tessera::fake_cuda {

// One launch, with what its kernel is given.
struct Launch {
  CUfunction function = nullptr;
  unsigned grid[3] = {};
  unsigned block[3] = {};
  unsigned shared = 0;
  uint64_t ns = 0;
  CUcontext context = nullptr;  // that it runs in; null: the stream's
};

// That it was loaded in.
CUcontext ContextOf(CUfunction function);
// Its code is loaded, if it was not before. False: the card has no room for it.
bool HasCode(CUfunction function);
// From the arguments of any of the functions that launch; false: they are not right.
bool ReadArguments(Launch& launch, void** parameters, void** extra);
// Into a stream, or into the graph that is made of it.
CUresult Put(const Launch& launch, CUstream stream);

}  // namespace tessera::fake_cuda
