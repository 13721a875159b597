// SPDX-License-Identifier: Apache-2.0
// Graphs with kernels of several GPUs.
#include <array>

#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

constexpr const char* kUuids[] = {"GPU-dbca3343-a2b9-4eec-a334-6a67dc541af0",
                                  "GPU-c018374b-45c1-4082-aaf7-5ab675f5bb33"};

class GraphDevicesTest : public CudaTest {
 protected:
  using Times = std::array<uint64_t, 2>;

  GraphDevicesTest() : CudaTest("8xv100") {}
  // Adds a kernel of 3 ms on the first GPU and one of 5 ms on the second. The first is current
  // then.
  static void AddKernels(const Gpu& cuda, CUgraph graph, std::array<CUgraphNode, 2>* nodes) {
    for (const int device : {1, 0}) {
      CUcontext context = nullptr;
      EXPECT_EQ(CALL(cuDevicePrimaryCtxRetain)(&context, device), CUDA_SUCCESS);
      EXPECT_EQ(CALL(cuCtxSetCurrent)(context), CUDA_SUCCESS);
      uint64_t ns = device == 0 ? 3 * kMs : 5 * kMs;
      void* arguments[] = {&ns};
      const CUDA_KERNEL_NODE_PARAMS kernel{cuda.Spin(), 1, 1,         1,       1,       1,
                                           1,           0, arguments, nullptr, nullptr, nullptr};
      CUgraphNode* const node = &(*nodes)[static_cast<size_t>(device)];
      EXPECT_EQ(CALL(cuGraphAddKernelNode_v2)(node, graph, nullptr, 0, &kernel), CUDA_SUCCESS);
    }
  }
  static CUgraph NewGraph(const Gpu& cuda) {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuda.As<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph, 0), CUDA_SUCCESS);
    return graph;
  }
  static CUgraphExec Instantiate(const Gpu& cuda, CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(CALL(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  static Times Busy(const Gpu& cuda) {
    return {CALL(fakecuda_busy)(kUuids[0], 0), CALL(fakecuda_busy)(kUuids[1], 0)};
  }
  static CUdevice DeviceOf(const Gpu& cuda, CUgraphNode node) {
    CUDA_KERNEL_NODE_PARAMS read{};
    EXPECT_EQ(CALL(cuGraphKernelNodeGetParams_v2)(node, &read), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxPushCurrent_v2)(read.ctx), CUDA_SUCCESS);
    CUdevice device = -1;
    EXPECT_EQ(CALL(cuCtxGetDevice)(&device), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxPopCurrent_v2)(&read.ctx), CUDA_SUCCESS);
    return device;
  }
};

TEST_F(GraphDevicesTest, EachKernelRunsOnItsOwnAndTheStreamIsDoneBehindAll) {
  OnGpu([](const Gpu& cuda) {
    CUgraph graph = NewGraph(cuda);
    std::array<CUgraphNode, 2> nodes{};
    AddKernels(cuda, graph, &nodes);
    CUgraphExec exec = Instantiate(cuda, graph);
    const uint64_t from = Now();
    EXPECT_EQ(CALL(cuGraphLaunch)(exec, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_GE(Now() - from, 8 * kMs);
    EXPECT_EQ(Busy(cuda), (Times{3 * kMs, 5 * kMs}));
  });
}

TEST_F(GraphDevicesTest, AKernelOfAnotherStreamThatIsCapturedRunsOnThatStreamsOwn) {
  OnGpu([](const Gpu& cuda) {
    CUcontext second = nullptr;
    const CUstream first_stream = cuda.NewStream();
    EXPECT_EQ(CALL(cuDevicePrimaryCtxRetain)(&second, 1), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSetCurrent)(second), CUDA_SUCCESS);
    const CUstream stream = cuda.NewStream();
    const CUfunction spin = cuda.Spin();
    auto* begin = cuda.As<CUresult(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2");
    EXPECT_EQ(begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(spin, 5 * kMs, stream), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    EXPECT_EQ(cuda.As<CUresult(CUstream, CUgraph*)>("cuStreamEndCapture")(stream, &graph),
              CUDA_SUCCESS);
    CUgraphExec exec = Instantiate(cuda, graph);
    EXPECT_EQ(CALL(cuCtxSetCurrent)(cuda.context), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuGraphLaunch)(exec, first_stream), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_EQ(Busy(cuda), (Times{0, 5 * kMs}));
  });
}

TEST_F(GraphDevicesTest, ANodeTellsItsContextAndKeepsItsDevice) {
  OnGpu([](const Gpu& cuda) {
    CUgraph graph = NewGraph(cuda);
    std::array<CUgraphNode, 2> nodes{};
    AddKernels(cuda, graph, &nodes);
    EXPECT_EQ(DeviceOf(cuda, nodes[0]), 0);
    EXPECT_EQ(DeviceOf(cuda, nodes[1]), 1);
    CUDA_KERNEL_NODE_PARAMS other{};
    EXPECT_EQ(CALL(cuGraphKernelNodeGetParams_v2)(nodes[1], &other), CUDA_SUCCESS);
    CUgraphExec exec = Instantiate(cuda, graph);
    auto* set = cuda.As<CUresult(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*)>(
        "cuGraphExecKernelNodeSetParams_v2");
    EXPECT_EQ(set(exec, nodes[0], &other), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(set(exec, nodes[1], &other), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
