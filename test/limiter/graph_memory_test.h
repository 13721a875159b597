// SPDX-License-Identifier: Apache-2.0
// For tests of graphs that allocate memory when they run.
#pragma once

#include "limiter/memory_test.h"

namespace tessera::limiter {

class GraphMemoryTest : public MemoryTest {
 protected:
  CUgraph NewGraph() {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuda().As<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph, 0), CUDA_SUCCESS);
    return graph;
  }
  CUdeviceptr AddAllocation(CUgraph graph, uint64_t bytes) {
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    parameters.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    parameters.alloc.bytesize = bytes;
    CUgraphNode node = nullptr;
    const auto add = cuda().As<decltype(cuGraphAddNode_v2)>("cuGraphAddNode_v2");
    EXPECT_EQ(add(&node, graph, nullptr, nullptr, 0, &parameters), CUDA_SUCCESS);
    return parameters.alloc.dptr;
  }
  void AddFree(CUgraph graph, CUdeviceptr address) {
    CUgraphNode node = nullptr;
    using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUdeviceptr);
    EXPECT_EQ(cuda().As<Add>("cuGraphAddMemFreeNode")(&node, graph, nullptr, 0, address),
              CUDA_SUCCESS);
  }
  static CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  // A graph that allocates, and frees its allocation.
  CUgraphExec Temporary(uint64_t bytes) {
    CUgraph graph = NewGraph();
    AddFree(graph, AddAllocation(graph, bytes));
    return Instantiate(graph);
  }
};

}  // namespace tessera::limiter
