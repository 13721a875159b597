// SPDX-License-Identifier: Apache-2.0
// Executable graphs, and their launches. They allocate from memory that a device reserves for
// graphs. It keeps that memory until the program trims it.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "cuda/graphs.h"

struct CUgraphExec_st {
  std::deque<CUgraphNode_st> nodes;        // with those of child graphs, in order
  std::map<CUgraphNode, size_t> place_of;  // by node of the graph that it was made from
  bool frees_at_launch = false;
};

namespace tessera::fake_cuda {
namespace {

struct GraphMemory {
  struct Live {
    uint64_t bytes = 0;
    int device = 0;
  };
  struct OfDevice {
    uint64_t used = 0, most_used = 0;
    uint64_t reserved = 0, most_reserved = 0;
  };
  std::mutex mutex;               // guards the members below
  std::map<uint64_t, Live> live;  // by address
  std::map<int, OfDevice> devices;
};
GraphMemory& TheMemory() {
  static auto* const memory = new GraphMemory();
  return *memory;
}

unsigned CardOf(int device) {
  return TheDriver()->node.devices[static_cast<size_t>(device)].card;
}

// The next three need the mutex.
bool ReserveUpTo(GraphMemory::OfDevice& of, uint64_t bytes, unsigned card) {
  if (bytes <= of.reserved) return true;
  if (!TheDriver()->state->Take(card, bytes - of.reserved)) return false;
  of.reserved = bytes;
  of.most_reserved = std::max(of.most_reserved, bytes);
  return true;
}
CUresult Allocate(GraphMemory& memory, const CUDA_MEM_ALLOC_NODE_PARAMS& parameters, int device) {
  const uint64_t bytes = RoundUp(parameters.bytesize, kChunk);
  if (memory.live.contains(parameters.dptr)) return CUDA_ERROR_INVALID_VALUE;
  GraphMemory::OfDevice& of = memory.devices[device];
  if (!ReserveUpTo(of, of.used + bytes, CardOf(device))) return CUDA_ERROR_OUT_OF_MEMORY;
  of.used += bytes;
  of.most_used = std::max(of.most_used, of.used);
  memory.live[parameters.dptr] = {bytes, device};
  return CUDA_SUCCESS;
}
bool Free(GraphMemory& memory, uint64_t address) {
  const auto found = memory.live.find(address);
  if (found == memory.live.end()) return false;
  memory.devices[found->second.device].used -= found->second.bytes;
  memory.live.erase(found);
  return true;
}

// Copies the nodes, and loads the kernels' code if it is loaded lazily. False: the card has no room
// for it.
bool Flatten(CUgraphExec_st& exec, CUgraph graph) {
  for (CUgraphNode_st& node : graph->nodes) {
    if (node.type == CU_GRAPH_NODE_TYPE_GRAPH) {
      if (!Flatten(exec, node.child)) return false;
      continue;
    }
    if (node.type == CU_GRAPH_NODE_TYPE_KERNEL && !HasCode(node.launch.function)) return false;
    exec.place_of[&node] = exec.nodes.size();
    exec.nodes.push_back(node);
  }
  return true;
}

CUresult Instantiate(CUgraphExec* out, CUgraph graph, uint64_t flags) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  constexpr uint64_t kAutoFree = 1;
  auto exec = std::make_unique<CUgraphExec_st>();
  exec->frees_at_launch = (flags & kAutoFree) != 0;
  if (!Flatten(*exec, graph)) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = exec.release();
  return CUDA_SUCCESS;
}

void FreeAllOf(CUgraphExec_st& exec) {
  GraphMemory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  for (const CUgraphNode_st& node : exec.nodes) {
    if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) Free(memory, node.allocation.dptr);
  }
}

CUresult Play(const CUgraphNode_st& node, CUstream stream) {
  GraphMemory& memory = TheMemory();
  if (node.type == CU_GRAPH_NODE_TYPE_KERNEL) return Put(node.launch, stream);
  const std::lock_guard lock(memory.mutex);
  if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    return Allocate(memory, node.allocation, stream->context->device);
  }
  if (node.type != CU_GRAPH_NODE_TYPE_MEM_FREE) return CUDA_SUCCESS;
  return Free(memory, node.freed) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Reserves the most memory that a launch would use.
CUresult Upload(const CUgraphExec_st& exec, CUstream handle) {
  NEED_CONTEXT(context);
  const CUstream stream = StreamOf(handle, context);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  GraphMemory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  std::map<uint64_t, uint64_t> live;  // bytes by address
  GraphMemory::OfDevice& of = memory.devices[stream->context->device];
  uint64_t used = of.used, most = of.used;
  for (const CUgraphNode_st& node : exec.nodes) {
    if (node.type == CU_GRAPH_NODE_TYPE_MEM_FREE) used -= std::exchange(live[node.freed], 0);
    if (node.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) continue;
    used += live[node.allocation.dptr] = RoundUp(node.allocation.bytesize, kChunk);
    most = std::max(most, used);
  }
  return ReserveUpTo(of, most, stream->context->card) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

// A launch into a captured stream becomes a child node of its graph.
CUresult CaptureExec(CUgraphExec_st& exec, Capture& capture) {
  CUgraph child = NewGraph();
  child->nodes = exec.nodes;
  return CaptureChild(capture, child);
}

template <class Parameters>
CUresult SetKernel(CUgraphExec exec, CUgraphNode node, const Parameters* from) {
  if (exec == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto place = exec->place_of.find(node);
  if (place == exec->place_of.end()) return CUDA_ERROR_INVALID_VALUE;
  Launch launch;
  if (!ReadKernel(launch, *from)) return CUDA_ERROR_INVALID_VALUE;
  if (!HasCode(launch.function)) return CUDA_ERROR_OUT_OF_MEMORY;
  Launch& own = exec->nodes[place->second].launch;
  if (launch.context->device != own.context->device) return CUDA_ERROR_INVALID_VALUE;
  own = launch;
  return CUDA_SUCCESS;
}

bool IsDevice(int device) {
  return device >= 0 && static_cast<size_t>(device) < TheDriver()->node.devices.size();
}

uint64_t* NumberOf(GraphMemory::OfDevice& of, CUgraphMem_attribute attribute) {
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
      return &of.used;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      return &of.most_used;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      return &of.reserved;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      return &of.most_reserved;
  }
  return nullptr;
}

}  // namespace

bool FreeGraphMemory(uint64_t address) {
  GraphMemory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  return Free(memory, address);
}

void DropGraphMemoryOf(CUcontext context) {
  if (!context->primary) return;
  GraphMemory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  std::erase_if(memory.live, [&](const auto& one) { return one.second.device == context->device; });
  TheDriver()->state->Give(context->card, memory.devices[context->device].reserved);
  memory.devices.erase(context->device);
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuGraphInstantiate(CUgraphExec* out, CUgraph graph, CUgraphNode* /*failed*/,
                                        char* /*log*/, size_t /*bytes*/) {
  return Instantiate(out, graph, 0);
}
FAKE_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode* /*failed*/,
                                           char* /*log*/, size_t /*bytes*/) {
  return Instantiate(out, graph, 0);
}
FAKE_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph,
                                                 unsigned long long flags) {
  return Instantiate(out, graph, flags);
}
FAKE_STREAM_FUNCTION(cuGraphInstantiateWithParams, _ptsz,
                     (CUgraphExec * out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters),
                     (out, graph, parameters)) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  constexpr uint64_t kUpload = 2;
  parameters->result_out = 0;
  const CUresult result = Instantiate(out, graph, parameters->flags);
  if (result != CUDA_SUCCESS || (parameters->flags & kUpload) == 0) return result;
  const CUresult uploaded = Upload(**out, parameters->hUploadStream);
  if (uploaded != CUDA_SUCCESS) delete *out;
  return uploaded;
}
FAKE_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  delete exec;
  return CUDA_SUCCESS;
}
FAKE_STREAM_FUNCTION(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream handle), (exec, handle)) {
  return exec == nullptr ? CUDA_ERROR_INVALID_VALUE : Upload(*exec, handle);
}
FAKE_STREAM_FUNCTION(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream handle), (exec, handle)) {
  NEED_CONTEXT(context);
  const CUstream stream = StreamOf(handle, context);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (auto* capture = stream->capture.load()) return CaptureExec(*exec, *capture);
  if (exec->frees_at_launch) FreeAllOf(*exec);
  for (const CUgraphNode_st& node : exec->nodes) {
    const CUresult result = Play(node, stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                    const CUDA_KERNEL_NODE_PARAMS_v1* from) {
  return SetKernel(exec, node, from);
}
FAKE_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                       const CUDA_KERNEL_NODE_PARAMS* from) {
  return SetKernel(exec, node, from);
}

FAKE_EXPORT CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                              CUgraphNodeParams* from) {
  if (from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (from->type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_NOT_SUPPORTED;
  return SetKernel(exec, node, &from->kernel);
}

FAKE_EXPORT CUresult cuDeviceGraphMemTrim(CUdevice device) {
  NEED_DRIVER(driver);
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  GraphMemory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  GraphMemory::OfDevice& of = memory.devices[device];
  driver->state->Give(CardOf(device), of.reserved - of.used);
  of.reserved = of.used;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                                  void* out) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  GraphMemory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  const uint64_t* number = NumberOf(memory.devices[device], attribute);
  if (number == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(out, number, sizeof *number);
  return CUDA_SUCCESS;
}
// As with the driver, a high-water mark can only be reset, here to the present value.
FAKE_EXPORT CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                                  void* value) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  GraphMemory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  GraphMemory::OfDevice& of = memory.devices[device];
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) {
    of.most_used = of.used;
  } else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
    of.most_reserved = of.reserved;
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
