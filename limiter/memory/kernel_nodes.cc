// SPDX-License-Identifier: Apache-2.0
// Kernels in graphs that are built by hand. The driver does not say when it loads their code. So it
// is loaded and counted before the node gets the kernel. A captured kernel had its code with its
// launch.
#include "limiter/memory/contexts.h"
#include "limiter/memory/launched_code.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

template <typename Parameters>
CUresult LoadCodeFor(const Parameters& node) {
  CUfunction kernel = node.func;
  CUcontext context = nullptr;  // the current one's
  if constexpr (requires { node.kern; }) {
    if (kernel == nullptr) kernel = reinterpret_cast<CUfunction>(node.kern);
    context = node.ctx;
  }
  if (!MayLoadCode(kernel)) return CUDA_SUCCESS;
  const PushedContext pushed(context);
  return LoadCode(kernel);
}

// call(parameters): the driver gets the copy that was read here.
template <typename Parameters, typename Call>
CUresult WithCode(const Parameters* parameters, Call call) {
  if (parameters == nullptr) return call(parameters);
  const Parameters own = *parameters;
  const CUresult loaded = LoadCodeFor(own);
  return loaded == CUDA_SUCCESS ? call(&own) : loaded;
}

// For any type of node. The driver may write answers into the parameters.
template <typename Call>
CUresult WithCode(CUgraphNodeParams* parameters, Call call) {
  if (parameters == nullptr) return call(parameters);
  CUgraphNodeParams own = *parameters;
  if (own.type == CU_GRAPH_NODE_TYPE_KERNEL) {
    const CUresult loaded = LoadCodeFor(own.kernel);
    if (loaded != CUDA_SUCCESS) return loaded;
  }
  const CUresult result = call(&own);
  if (result == CUDA_SUCCESS) *parameters = own;
  return result;
}

using Nodes = const CUgraphNode*;

}  // namespace

#define KERNEL_NODES(version, of_version)                                                   \
  CUresult cuGraphAddKernelNode##version(CUgraphNode* out, CUgraph graph, Nodes after,      \
                                         size_t count,                                      \
                                         const CUDA_KERNEL_NODE_PARAMS##of_version* node) { \
    return WithCode(node, [&](const CUDA_KERNEL_NODE_PARAMS##of_version* own) {             \
      return TheDriver().cuGraphAddKernelNode##version(out, graph, after, count, own);      \
    });                                                                                     \
  }                                                                                         \
  CUresult cuGraphKernelNodeSetParams##version(                                             \
      CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS##of_version* parameters) {            \
    return WithCode(parameters, [&](const CUDA_KERNEL_NODE_PARAMS##of_version* own) {       \
      return TheDriver().cuGraphKernelNodeSetParams##version(node, own);                    \
    });                                                                                     \
  }                                                                                         \
  CUresult cuGraphExecKernelNodeSetParams##version(                                         \
      CUgraphExec graph, CUgraphNode node,                                                  \
      const CUDA_KERNEL_NODE_PARAMS##of_version* parameters) {                              \
    return WithCode(parameters, [&](const CUDA_KERNEL_NODE_PARAMS##of_version* own) {       \
      return TheDriver().cuGraphExecKernelNodeSetParams##version(graph, node, own);         \
    });                                                                                     \
  }
KERNEL_NODES(, _v1)
KERNEL_NODES(_v2, )

CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph, Nodes after, size_t count,
                        CUgraphNodeParams* node) {
  return WithCode(node, [&](CUgraphNodeParams* own) {
    return TheDriver().cuGraphAddNode(out, graph, after, count, own);
  });
}
CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, Nodes after,
                           const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* node) {
  return WithCode(node, [&](CUgraphNodeParams* own) {
    return TheDriver().cuGraphAddNode_v2(out, graph, after, edges, count, own);
  });
}
CUresult cuGraphAddNode_v3(CUgraphNode* out, CUgraph graph, Nodes after,
                           const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* node) {
  return WithCode(node, [&](CUgraphNodeParams* own) {
    return TheDriver().cuGraphAddNode_v3(out, graph, after, edges, count, own);
  });
}
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* parameters) {
  return WithCode(parameters, [node](CUgraphNodeParams* own) {
    return TheDriver().cuGraphNodeSetParams(node, own);
  });
}
CUresult cuGraphNodeSetParams_v2(CUgraphNode node, CUgraphNodeParams* parameters) {
  return WithCode(parameters, [node](CUgraphNodeParams* own) {
    return TheDriver().cuGraphNodeSetParams_v2(node, own);
  });
}
CUresult cuGraphExecNodeSetParams(CUgraphExec graph, CUgraphNode node,
                                  CUgraphNodeParams* parameters) {
  return WithCode(parameters, [&](CUgraphNodeParams* own) {
    return TheDriver().cuGraphExecNodeSetParams(graph, node, own);
  });
}
