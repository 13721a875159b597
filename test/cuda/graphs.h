// SPDX-License-Identifier: Apache-2.0
// Graphs, made node by node or by capturing a stream. The program owns them. Any thread, but only
// one for each graph, as with the driver.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "cuda/contexts.h"
#include "cuda/launches.h"

struct CUgraphNode_st {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
  CUgraph graph = nullptr;  // the graph that has it
  tessera::fake_cuda::Launch launch;
  CUDA_MEM_ALLOC_NODE_PARAMS allocation{};
  CUdeviceptr freed = 0;
  CUgraph child = nullptr;
  void* arguments[1] = {};  // the kernel's, for programs that read the node back
};
struct CUgraph_st {
  std::deque<CUgraphNode_st> nodes;  // in the order in which they run
};

namespace tessera::fake_cuda {

inline constexpr CUgraphNodeType kEmptyNode{5};

// One capture. A stream's member `capture` points to it, also in a stream that joined by waiting
// for an event. Never freed.
struct Capture {
  CUgraph graph = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  CUstream origin = nullptr;
  uint64_t id = 0;
  std::atomic<bool> broken = false;
  std::atomic<bool> ended = false;
  std::vector<CUstream> streams;  // under the captures' mutex (captures.cc)
};

inline Capture* Ongoing(const std::atomic<Capture*>& of) {
  Capture* capture = of;
  return capture != nullptr && !capture->ended ? capture : nullptr;
}

// Adds a call on a captured stream to the graph.
CUresult CaptureLaunch(Capture& capture, const Launch& launch);
CUresult CaptureAllocation(Capture& capture, CUdeviceptr* out, uint64_t bytes);
CUresult CaptureFree(Capture& capture, CUdeviceptr address);
CUresult CaptureChild(Capture& capture, CUgraph child);
// Captures another stream's work too, from now on.
CUresult JoinCapture(Capture& capture, CUstream stream);
// Work in the legacy stream would wait for all blocking streams. So it is refused, and invalidates
// their captures.
CUresult RefuseLegacy(CUcontext context);

// Reads a kernel node's launch. False: the parameters are invalid.
template <class Parameters>
bool ReadKernel(Launch& launch, const Parameters& from) {
  launch = {from.func,
            {from.gridDimX, from.gridDimY, from.gridDimZ},
            {from.blockDimX, from.blockDimY, from.blockDimZ},
            from.sharedMemBytes};
  if constexpr (requires { from.kern; }) {
    if (launch.function == nullptr) {
      launch.function = reinterpret_cast<CUfunction>(from.kern);
      launch.context = from.ctx != nullptr ? from.ctx : Current();
    }
  }
  if (launch.function == nullptr) return false;
  if (launch.context == nullptr) launch.context = ContextOf(launch.function);
  return ReadArguments(launch, from.kernelParams, from.extra);
}

CUgraph NewGraph();
// Frees memory that a graph allocated and did not free. False: no such memory is at the address.
bool FreeGraphMemory(uint64_t address);
CUgraphNode AddAllocation(CUgraph graph, CUcontext context,
                          const CUDA_MEM_ALLOC_NODE_PARAMS& parameters);

}  // namespace tessera::fake_cuda
