// SPDX-License-Identifier: Apache-2.0
// Memory that graphs allocate when they run. A device keeps it for the process's graphs until it is
// trimmed, and the driver reports how much it keeps. As with pools (pools.h), that is counted, and
// not what graphs take of it. Any thread.
#pragma once

#include <cstdint>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {

// Around a launch or an upload, which may make a device keep more for graphs. Room for all
// allocations of the graph is reserved before the driver is called. One thread.
class GraphMemory {
 public:
  GraphMemory(CUgraphExec graph, CUstream stream, bool per_thread);
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  // True without room: the answer is CUDA_ERROR_OUT_OF_MEMORY, and the driver is not called.
  bool is_denied() const { return is_denied_; }
  // The driver's answer, which is handed on; what the launch did not need is given back.
  CUresult Done(CUresult result);

 private:
  const CUgraphExec graph_;
  const uint64_t stream_;
  uint64_t devices_ = 0;   // a bit for each device that it allocates on
  uint64_t reserved_ = 0;  // a bit for each device where room is reserved
  bool is_captured_ = false;
  bool is_denied_ = false;
};

// Call before the graph is destroyed: its address may be used again.
void ForgetGraphMemory(CUgraphExec graph);

// Makes a place's device give back what no graph needs. True: there is more room now.
bool TrimGraphs(int place);
// Counts the kept memory again, after contexts of the device ended.
void SettleGraphs(CUdevice device);

}  // namespace tessera::limiter
