// SPDX-License-Identifier: Apache-2.0
// Graphs, made node by node or by capturing a stream. Any thread; a graph one at a time, as with
// the driver.
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
  CUgraph graph = nullptr;  // that it is in
  tessera::fake_cuda::Launch launch;
  CUDA_MEM_ALLOC_NODE_PARAMS allocation{};
  CUdeviceptr freed = 0;
  CUgraph child = nullptr;
  void* arguments[1] = {};  // of the kernel, as a program reads them back
};
struct CUgraph_st {
  std::deque<CUgraphNode_st> nodes;  // each after those that it depends on
};

namespace tessera::fake_cuda {

inline constexpr CUgraphNodeType kEmptyNode{5};

// One that goes on. Its streams, and those that waited for its events, are told apart by `capture`.
struct Capture {
  CUgraph graph = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  CUstream origin = nullptr;
  uint64_t id = 0;
  std::atomic<bool> broken = false;
  std::atomic<bool> ended = false;
  std::vector<CUstream> streams;  // under the mutex of all captures (captures.cc)
};

inline Capture* Ongoing(const std::atomic<Capture*>& of) {
  Capture* capture = of;
  return capture != nullptr && !capture->ended ? capture : nullptr;
}

// What a call on a stream that is captured becomes.
CUresult CaptureLaunch(Capture& capture, const Launch& launch);
CUresult CaptureAllocation(Capture& capture, CUdeviceptr* out, uint64_t bytes);
CUresult CaptureFree(Capture& capture, CUdeviceptr address);
CUresult CaptureChild(Capture& capture, CUgraph child);
// Another stream's work is captured from here on.
CUresult JoinCapture(Capture& capture, CUstream stream);
// Work in the legacy stream waits for all streams: it breaks the captures of those.
CUresult RefuseLegacy(CUcontext context);

// What a kernel node is to launch. False: the parameters are not right.
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
// Device memory that graphs allocated: what is not freed again by a graph may be freed by a call.
bool FreeGraphMemory(uint64_t address);
CUgraphNode AddAllocation(CUgraph graph, CUcontext context,
                          const CUDA_MEM_ALLOC_NODE_PARAMS& parameters);

}  // namespace tessera::fake_cuda
