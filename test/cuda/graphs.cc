// SPDX-License-Identifier: Apache-2.0
#include "cuda/graphs.h"

#include <algorithm>
#include <map>

namespace tessera::fake_cuda {
namespace {

// Nodes that take no time of the card's multiprocessors.
constexpr CUgraphNodeType kCopy{1};
constexpr CUgraphNodeType kSet{2};
constexpr CUgraphNodeType kHost{3};

CUgraphNode Add(CUgraph graph, CUgraphNodeType type) {
  CUgraphNode_st& node = graph->nodes.emplace_back();
  node.type = type;
  node.graph = graph;
  return &node;
}

template <class Parameters>
void Write(Parameters& to, CUgraphNode_st& node) {
  node.arguments[0] = &node.launch.ns;
  const Launch& launch = node.launch;
  to = {};
  to.func = launch.function;
  to.gridDimX = launch.grid[0];
  to.gridDimY = launch.grid[1];
  to.gridDimZ = launch.grid[2];
  to.blockDimX = launch.block[0];
  to.blockDimY = launch.block[1];
  to.blockDimZ = launch.block[2];
  to.sharedMemBytes = launch.shared;
  to.kernelParams = node.arguments;
  if constexpr (requires { to.ctx; }) to.ctx = launch.context;
}

template <class Parameters>
CUresult AddKernel(CUgraphNode* out, CUgraph graph, const Parameters* from) {
  if (out == nullptr || graph == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Launch launch;
  if (!ReadKernel(launch, *from)) return CUDA_ERROR_INVALID_VALUE;
  *out = Add(graph, CU_GRAPH_NODE_TYPE_KERNEL);
  (*out)->launch = launch;
  return CUDA_SUCCESS;
}

template <class Parameters>
CUresult GetKernel(CUgraphNode node, Parameters* out) {
  const bool is = node != nullptr && out != nullptr && node->type == CU_GRAPH_NODE_TYPE_KERNEL;
  if (!is) return CUDA_ERROR_INVALID_VALUE;
  Write(*out, *node);
  return CUDA_SUCCESS;
}

template <class Parameters>
CUresult SetKernel(CUgraphNode node, const Parameters* from) {
  Launch launch;
  if (node == nullptr || from == nullptr || !ReadKernel(launch, *from))
    return CUDA_ERROR_INVALID_VALUE;
  node->launch = launch;
  return CUDA_SUCCESS;
}

CUresult AddEmpty(CUgraphNode* out, CUgraph graph, CUgraphNodeType type) {
  if (out == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = Add(graph, type);
  return CUDA_SUCCESS;
}

CUresult AddMemory(CUgraphNode* out, CUgraph graph, CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  NEED_CONTEXT(context);
  const bool valid = out != nullptr && graph != nullptr && parameters != nullptr;
  if (!valid || parameters->bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  *out = AddAllocation(graph, context, *parameters);
  parameters->dptr = (*out)->allocation.dptr;
  return CUDA_SUCCESS;
}

CUresult AddFree(CUgraphNode* out, CUgraph graph, CUdeviceptr address) {
  if (out == nullptr || graph == nullptr || address == 0) return CUDA_ERROR_INVALID_VALUE;
  *out = Add(graph, CU_GRAPH_NODE_TYPE_MEM_FREE);
  (*out)->freed = address;
  return CUDA_SUCCESS;
}

// Copies the child, because the program may then change or destroy it.
CUresult AddChild(CUgraphNode* out, CUgraph graph, CUgraph child) {
  if (out == nullptr || graph == nullptr || child == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = Add(graph, CU_GRAPH_NODE_TYPE_GRAPH);
  (*out)->child = new CUgraph_st(*child);
  return CUDA_SUCCESS;
}

CUresult AddNode(CUgraphNode* out, CUgraph graph, CUgraphNodeParams* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (parameters->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return AddKernel(out, graph, &parameters->kernel);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return AddMemory(out, graph, &parameters->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return AddFree(out, graph, parameters->free.dptr);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return AddChild(out, graph, parameters->graph);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return AddEmpty(out, graph, parameters->type);
  }
}

}  // namespace

CUgraph NewGraph() {
  return new CUgraph_st();
}

namespace {

// The address of memory that the graph has allocated and freed, if it is large enough. 0: none.
uint64_t FreedIn(const CUgraph graph, uint64_t bytes) {
  std::map<uint64_t, uint64_t> freed;
  std::map<uint64_t, uint64_t> sizes;
  for (const CUgraphNode_st& node : graph->nodes) {
    const CUDA_MEM_ALLOC_NODE_PARAMS& one = node.allocation;
    if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
      freed.erase(one.dptr);
      sizes[one.dptr] = std::max<uint64_t>(sizes[one.dptr], one.bytesize);
    } else if (node.type == CU_GRAPH_NODE_TYPE_MEM_FREE && sizes.contains(node.freed)) {
      freed[node.freed] = sizes[node.freed];
    }
  }
  for (const auto& [address, size] : freed) {
    if (size >= bytes) return address;
  }
  return 0;
}

}  // namespace

CUgraphNode AddAllocation(CUgraph graph, CUcontext context,
                          const CUDA_MEM_ALLOC_NODE_PARAMS& parameters) {
  const uint64_t again = FreedIn(graph, parameters.bytesize);
  CUgraphNode node = Add(graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  node->allocation = parameters;
  node->allocation.dptr = again;
  if (again != 0) return node;
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  node->allocation.dptr =
      space.Reserve(parameters.bytesize, {.kind = Kind::kReserved,
                                          .device = static_cast<uint8_t>(context->device),
                                          .bytes = parameters.bytesize});
  return node;
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)
using Nodes = const CUgraphNode*;

FAKE_EXPORT CUresult cuGraphCreate(CUgraph* out, unsigned flags) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *out = NewGraph();
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  delete graph;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuGraphClone(CUgraph* out, CUgraph graph) {
  if (out == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = new CUgraph_st(*graph);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuGraphAddKernelNode(CUgraphNode* out, CUgraph graph, Nodes /*after*/,
                                          size_t /*count*/,
                                          const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  return AddKernel(out, graph, parameters);
}
FAKE_EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph graph, Nodes /*after*/,
                                             size_t /*count*/,
                                             const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return AddKernel(out, graph, parameters);
}
FAKE_EXPORT CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* out) {
  return GetKernel(node, out);
}
FAKE_EXPORT CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* out) {
  return GetKernel(node, out);
}
FAKE_EXPORT CUresult cuGraphKernelNodeSetParams(CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS_v1* from) {
  return SetKernel(node, from);
}
FAKE_EXPORT CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS* from) {
  return SetKernel(node, from);
}

FAKE_EXPORT CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* from) {
  if (from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (from->type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_NOT_SUPPORTED;
  return SetKernel(node, &from->kernel);
}
FAKE_EXPORT CUresult cuGraphNodeSetParams_v2(CUgraphNode node, CUgraphNodeParams* from) {
  return cuGraphNodeSetParams(node, from);
}

FAKE_EXPORT CUresult cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph graph, Nodes /*after*/,
                                            size_t /*count*/,
                                            CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  return AddMemory(out, graph, parameters);
}
FAKE_EXPORT CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node,
                                                  CUDA_MEM_ALLOC_NODE_PARAMS* out) {
  const bool is = node != nullptr && node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  if (!is || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = node->allocation;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuGraphAddMemFreeNode(CUgraphNode* out, CUgraph graph, Nodes /*after*/,
                                           size_t /*count*/, CUdeviceptr address) {
  return AddFree(out, graph, address);
}
FAKE_EXPORT CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* out) {
  const bool is = node != nullptr && node->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
  if (!is || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = node->freed;
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph, Nodes /*after*/,
                                              size_t /*count*/, CUgraph child) {
  return AddChild(out, graph, child);
}
FAKE_EXPORT CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* out) {
  const bool is = node != nullptr && node->type == CU_GRAPH_NODE_TYPE_GRAPH;
  if (!is || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = node->child;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuGraphAddEmptyNode(CUgraphNode* out, CUgraph graph, Nodes /*after*/,
                                         size_t /*count*/) {
  return AddEmpty(out, graph, kEmptyNode);
}
FAKE_EXPORT CUresult cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph graph, Nodes /*after*/,
                                          size_t /*count*/, const void* /*parameters*/,
                                          CUcontext /*context*/) {
  return AddEmpty(out, graph, kCopy);
}
FAKE_EXPORT CUresult cuGraphAddMemsetNode(CUgraphNode* out, CUgraph graph, Nodes /*after*/,
                                          size_t /*count*/, const void* /*parameters*/,
                                          CUcontext /*context*/) {
  return AddEmpty(out, graph, kSet);
}
FAKE_EXPORT CUresult cuGraphAddHostNode(CUgraphNode* out, CUgraph graph, Nodes /*after*/,
                                        size_t /*count*/, const void* /*parameters*/) {
  return AddEmpty(out, graph, kHost);
}

FAKE_EXPORT CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph, Nodes /*after*/,
                                    size_t /*count*/, CUgraphNodeParams* parameters) {
  return AddNode(out, graph, parameters);
}
FAKE_EXPORT CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, Nodes /*after*/,
                                       const CUgraphEdgeData* /*edges*/, size_t /*count*/,
                                       CUgraphNodeParams* parameters) {
  return AddNode(out, graph, parameters);
}
FAKE_EXPORT CUresult cuGraphAddNode_v3(CUgraphNode* out, CUgraph graph, Nodes /*after*/,
                                       const CUgraphEdgeData* /*edges*/, size_t /*count*/,
                                       CUgraphNodeParams* parameters) {
  return AddNode(out, graph, parameters);
}

// Dependencies are ignored: nodes run in the order in which they were added.
FAKE_EXPORT CUresult cuGraphAddDependencies(CUgraph graph, Nodes /*from*/, Nodes /*to*/,
                                            size_t /*count*/) {
  return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* out, size_t* count) {
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const size_t all = graph->nodes.size();
  for (size_t i = 0; out != nullptr && i < *count; ++i) {
    out[i] = i < all ? &graph->nodes[i] : nullptr;
  }
  *count = out == nullptr ? all : std::min(*count, all);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* out) {
  if (node == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = node->type;
  return CUDA_SUCCESS;
}
