// SPDX-License-Identifier: Apache-2.0
// Memory that graphs allocate when they run. A device keeps it for the graphs of the process until
// it is trimmed, and the driver tells how much that is: as with pools (pools.h) what it keeps is
// counted, and not what graphs take of it. Any thread.
#pragma once

#include <cstdint>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {

// What may make a device keep more for graphs: a launch, or an upload before it. Room for all that
// the graph allocates is reserved before the driver is asked.
class GraphMemory {
 public:
  GraphMemory(CUgraphExec graph, CUstream stream, bool per_thread);
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  // There is no room: the answer is CUDA_ERROR_OUT_OF_MEMORY, and the driver is not asked.
  bool is_denied() const { return is_denied_; }
  // The driver's answer, which is handed on; what the launch did not need is given back.
  CUresult Done(CUresult result);

 private:
  const CUgraphExec graph_;
  const uint64_t stream_;
  uint64_t devices_ = 0;   // a bit for each that it allocates on
  uint64_t reserved_ = 0;  // likewise, where room was reserved
  bool is_captured_ = false;
  bool is_denied_ = false;
};

// Its address may come again.
void ForgetGraphMemory(CUgraphExec graph);

// Has the device of a place give back what no graph needs. True: there is more room now.
bool TrimGraphs(int place);
// What is kept for graphs is looked at anew: contexts of the device ended.
void SettleGraphs(CUdevice device);

}  // namespace tessera::limiter
