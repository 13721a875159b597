// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class GraphsTest : public CudaTest {
 protected:
  static CUgraph NewGraph(const Library& cuda) {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuda.As<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph, 0), CUDA_SUCCESS);
    return graph;
  }
  static CUgraphNode AddKernel(const Library& cuda, CUgraph graph, CUfunction spin, uint64_t ns) {
    void* arguments[] = {&ns};
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
    parameters.kernel = {.func = spin,
                         .gridDimX = 2,
                         .gridDimY = 1,
                         .gridDimZ = 1,
                         .blockDimX = 64,
                         .blockDimY = 1,
                         .blockDimZ = 1,
                         .sharedMemBytes = 0,
                         .kernelParams = arguments,
                         .extra = nullptr,
                         .kern = nullptr,
                         .ctx = nullptr};
    CUgraphNode node = nullptr;
    EXPECT_EQ(CALL(cuGraphAddNode_v2)(&node, graph, nullptr, nullptr, 0, &parameters),
              CUDA_SUCCESS);
    return node;
  }
  static CUdeviceptr AddAllocation(const Library& cuda, CUgraph graph, uint64_t bytes) {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
    parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    parameters.bytesize = bytes;
    CUgraphNode node = nullptr;
    EXPECT_EQ(CALL(cuGraphAddMemAllocNode)(&node, graph, nullptr, 0, &parameters), CUDA_SUCCESS);
    EXPECT_NE(parameters.dptr, 0U);
    return parameters.dptr;
  }
  static void AddFree(const Library& cuda, CUgraph graph, CUdeviceptr address) {
    CUgraphNode node = nullptr;
    auto* add = cuda.As<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUdeviceptr)>(
        "cuGraphAddMemFreeNode");
    EXPECT_EQ(add(&node, graph, nullptr, 0, address), CUDA_SUCCESS);
  }
  static CUgraphExec Instantiate(const Library& cuda, CUgraph graph, uint64_t flags = 0) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(CALL(cuGraphInstantiateWithFlags)(&exec, graph, flags), CUDA_SUCCESS);
    return exec;
  }
  static uint64_t Number(const Library& cuda, CUgraphMem_attribute attribute) {
    uint64_t number = 0;
    EXPECT_EQ(CALL(cuDeviceGetGraphMemAttribute)(0, attribute, &number), CUDA_SUCCESS);
    return number / kMiB;
  }
};

TEST_F(GraphsTest, ALaunchTakesTheTimeOfAllItsKernelsAndItsChildrens) {
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    CUgraph child = NewGraph(cuda);
    AddKernel(cuda, child, spin, 4 * kMs);
    CUgraph graph = NewGraph(cuda);
    AddKernel(cuda, graph, spin, 3 * kMs);
    CUgraphNode node = nullptr;
    EXPECT_EQ(CALL(cuGraphAddChildGraphNode)(&node, graph, nullptr, 0, child), CUDA_SUCCESS);
    CUgraphExec exec = Instantiate(cuda, graph);
    EXPECT_EQ(CALL(fakecuda_kernels)(0), 0U);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(CALL(cuGraphLaunch)(exec, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_EQ(CALL(fakecuda_busy)(cuda.Uuid().c_str(), 0), 14 * kMs);
    EXPECT_EQ(CALL(fakecuda_kernels)(0), 4U);
  });
}

TEST_F(GraphsTest, AKernelsParametersAreReadBackAndChangedInWhatIsLaunched) {
  OnGpu([](const Gpu& cuda) {
    CUgraph graph = NewGraph(cuda);
    const CUfunction spin = cuda.Spin();
    CUgraphNode node = AddKernel(cuda, graph, spin, 3 * kMs);
    CUgraphExec exec = Instantiate(cuda, graph);
    CUDA_KERNEL_NODE_PARAMS read{};
    EXPECT_EQ(CALL(cuGraphKernelNodeGetParams_v2)(node, &read), CUDA_SUCCESS);
    EXPECT_EQ(read.func, spin);
    EXPECT_EQ(read.gridDimX, 2U);
    EXPECT_EQ(read.blockDimX, 64U);
    EXPECT_EQ(*static_cast<uint64_t*>(read.kernelParams[0]), 3 * kMs);
    uint64_t ns = 5 * kMs;
    void* arguments[] = {&ns};
    read.kernelParams = arguments;
    auto* set = cuda.As<CUresult(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*)>(
        "cuGraphExecKernelNodeSetParams_v2");
    EXPECT_EQ(set(exec, node, &read), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuGraphLaunch)(exec, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_EQ(CALL(fakecuda_busy)(cuda.Uuid().c_str(), 0), 5 * kMs);
  });
}

TEST_F(GraphsTest, WhatAGraphAllocatesIsTheCardsFromTheLaunchToTheTrim) {
  OnGpu([](const Gpu& cuda) {
    CUgraph graph = NewGraph(cuda);
    AddFree(cuda, graph, AddAllocation(cuda, graph, 100 * kMiB));
    CUgraphExec exec = Instantiate(cuda, graph);
    EXPECT_EQ(cuda.Resident(), 0U);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(CALL(cuGraphLaunch)(exec, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 100U);
    EXPECT_EQ(Number(cuda, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0U);
    EXPECT_EQ(Number(cuda, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 100U);
    EXPECT_EQ(Number(cuda, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 100U);
    EXPECT_EQ(CALL(cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(GraphsTest, WhatAGraphLeavesAllocatedIsFreedByACallOrByTheNextLaunch) {
  OnGpu([](const Gpu& cuda) {
    CUgraph graph = NewGraph(cuda);
    const CUdeviceptr address = AddAllocation(cuda, graph, 100 * kMiB);
    CUgraphExec once = Instantiate(cuda, graph);
    EXPECT_EQ(CALL(cuGraphLaunch)(once, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuGraphLaunch)(once, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CALL(cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 100U);
    EXPECT_EQ(cuda.Free(address), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
    CUgraphExec freeing = Instantiate(cuda, graph, 1);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(CALL(cuGraphLaunch)(freeing, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 100U);
  });
}

TEST_F(GraphsTest, ALaunchThatTheCardHasNoMemoryForIsRefused) {
  OnGpu([](const Gpu& cuda) {
    cuda.Allocate(15'000 * kMiB);
    CUgraph graph = NewGraph(cuda);
    AddAllocation(cuda, graph, 1000 * kMiB);
    EXPECT_EQ(CALL(cuGraphLaunch)(Instantiate(cuda, graph), nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuda.Resident(), 15'000U);
  });
}

TEST_F(GraphsTest, AllocationsOfACapturedStreamAreNodes) {
  OnGpu([](const Gpu& cuda) {
    const CUstream stream = cuda.NewStream();
    CUgraph graph = nullptr;
    CUdeviceptr address = 0;
    auto* begin = cuda.As<CUresult(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2");
    EXPECT_EQ(begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemAllocAsync)(&address, 10 * kMiB, stream), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemFreeAsync)(address, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.As<CUresult(CUstream, CUgraph*)>("cuStreamEndCapture")(stream, &graph),
              CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
    CUgraphNode nodes[3];
    size_t count = 3;
    EXPECT_EQ(CALL(cuGraphGetNodes)(graph, nodes, &count), CUDA_SUCCESS);
    EXPECT_EQ(count, 2U);
    CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
    EXPECT_EQ(CALL(cuGraphMemAllocNodeGetParams)(nodes[0], &parameters), CUDA_SUCCESS);
    EXPECT_EQ(parameters.dptr, address);
    EXPECT_EQ(parameters.bytesize, 10 * kMiB);
    CUgraphNodeType type{};
    EXPECT_EQ(CALL(cuGraphNodeGetType)(nodes[1], &type), CUDA_SUCCESS);
    EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_FREE);
  });
}

TEST_F(GraphsTest, ALaunchIntoACapturedStreamBecomesAChild) {
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    CUgraph inner = NewGraph(cuda);
    AddKernel(cuda, inner, spin, 2 * kMs);
    CUgraphExec exec = Instantiate(cuda, inner);
    const CUstream stream = cuda.NewStream();
    CUgraph graph = nullptr;
    auto* begin = cuda.As<CUresult(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2");
    EXPECT_EQ(begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuGraphLaunch)(exec, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.As<CUresult(CUstream, CUgraph*)>("cuStreamEndCapture")(stream, &graph),
              CUDA_SUCCESS);
    EXPECT_EQ(CALL(fakecuda_kernels)(0), 0U);
    EXPECT_EQ(CALL(cuGraphLaunch)(Instantiate(cuda, graph), nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CALL(fakecuda_kernels)(0), 1U);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
