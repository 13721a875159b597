// SPDX-License-Identifier: Apache-2.0
// Graphs in a process with two GPUs: each graph costs time of the GPUs that its kernels run on.
#include <unistd.h>

#include <atomic>
#include <utility>

#include "limiter/devices_test.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kNs = 20 * kMs;  // of each kernel

class GraphDevicesTest : public DevicesTest {
 protected:
  CUgraph NewGraph() {
    CUgraph graph = nullptr;
    EXPECT_EQ(library_->As<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph, 0), CUDA_SUCCESS);
    return graph;
  }
  static CUDA_KERNEL_NODE_PARAMS Kernel(CUfunction kernel, void** arguments) {
    return {.func = kernel,
            .gridDimX = 1,
            .gridDimY = 1,
            .gridDimZ = 1,
            .blockDimX = 1,
            .blockDimY = 1,
            .blockDimZ = 1,
            .sharedMemBytes = 0,
            .kernelParams = arguments,
            .extra = nullptr,
            .kern = nullptr,
            .ctx = nullptr};
  }
  static CUgraphNode Add(CUgraph graph, CUfunction kernel, uint64_t ns = kNs) {
    void* arguments[] = {&ns};
    const auto parameters = Kernel(kernel, arguments);
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &parameters), CUDA_SUCCESS);
    return node;
  }
  void AddChild(CUgraph graph, CUgraph child) {
    using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraph);
    CUgraphNode node = nullptr;
    EXPECT_EQ(library_->As<Add>("cuGraphAddChildGraphNode")(&node, graph, nullptr, 0, child),
              CUDA_SUCCESS);
  }
  static CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  // From now on the node's kernel takes `ns`.
  static void Change(CUgraphExec exec, CUgraphNode node, CUfunction kernel, uint64_t ns) {
    void* arguments[] = {&ns};
    const auto parameters = Kernel(kernel, arguments);
    EXPECT_EQ(cuGraphExecKernelNodeSetParams_v2(exec, node, &parameters), CUDA_SUCCESS);
  }
  // Launches while the agent says that the container has both GPUs for itself.
  CUresult LaunchAlone(CUgraphExec exec, CUstream stream) {
    for (TimeAccounting* accounting :
         {&TheRegion()->accounting.times[0], &TheRegion()->accounting.times[1]}) {
      accounting->others = 1;
      accounting->others_at = fake_cuda::Now() - (accounting->others_at == 0 ? 1'500 * kMs : 0);
    }
    return cuGraphLaunch(exec, stream);
  }
  // Holds the stream until let_go_ is set.
  void Hold(CUstream stream) {
    using Call = CUresult(CUstream, void (*)(void*), void*);
    const auto await = [](void* flag) {
      while (!*static_cast<std::atomic<bool>*>(flag)) usleep(100);
    };
    ASSERT_EQ(library_->As<Call>("cuLaunchHostFunc")(stream, await, &let_go_), CUDA_SUCCESS);
  }
  // Launches the graph for 800 ms, and returns each GPU's share of the time in percent.
  Both SharesOf(CUgraphExec exec, CUstream stream) {
    const uint64_t from = fake_cuda::Now();
    const Both before = BusyOnBoth();
    while (fake_cuda::Now() - from < 800 * kMs)
      EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    const Both now = BusyOnBoth();
    for (size_t i = 0; i < 2; ++i) busy_[i] = now[i] - before[i];
    return SharesSince(from, before, now, kNs);
  }
  // The device was busy, and all of that was charged.
  void ExpectCharged(size_t device) {
    EXPECT_GE(busy_[device], 60 * kMs) << "it ran at all";
    EXPECT_GE(TheRegion()->accounting.times[device].used + 3 * kNs, busy_[device]);
  }
  static bool IsUntouched(size_t device) {
    return TheRegion()->accounting.times[device].bucket.high == 0;
  }

  Both busy_{};
  std::atomic<bool> let_go_ = false;
};

TEST_F(GraphDevicesTest, OneThatHasKernelsOfBothIsOfTheShareOfEach) {
  for (const auto& [first, second] : {std::pair<uint32_t, uint32_t>{30, 60}, {60, 30}}) {
    SCOPED_TRACE(first);
    SetShares(first, second);
    Run([&] {
      PrepareBoth();
      CUgraph graph = NewGraph();
      for (const Device& device : devices_) Add(graph, device.spin);
      const Both shares = SharesOf(Instantiate(graph), devices_[0].stream);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_LE(shares[i], 32u);
        ExpectCharged(i);
      }
    });
  }
}

TEST_F(GraphDevicesTest, KernelsOfALimitedOneAreNoneOfAnUnlimitedOneThatTheyAreLaunchedOn) {
  SetShares(0, 30);
  Run([&] {
    PrepareBoth();
    CUgraph graph = NewGraph(), child = NewGraph();
    Add(graph, devices_[0].spin);
    Add(child, devices_[1].spin);
    AddChild(graph, child);
    const Both shares = SharesOf(Instantiate(graph), devices_[0].stream);
    EXPECT_LE(shares[1], 32u);
    ExpectCharged(1);
    EXPECT_TRUE(IsUntouched(0));
  });
}

TEST_F(GraphDevicesTest, OneOfASingleGpuIsOfThatOnesShareWhateverStreamItIsLaunchedInto) {
  SetShares(30, 30);
  Run([&] {
    PrepareBoth();
    CUgraph graph = NewGraph();
    Add(graph, devices_[1].spin);
    const Both shares = SharesOf(Instantiate(graph), devices_[0].stream);
    EXPECT_LE(shares[1], 32u);
    ExpectCharged(1);
    EXPECT_TRUE(IsUntouched(0));
  });
}

TEST_F(GraphDevicesTest, AKernelOfALibraryRunsInTheContextThatItsNodeNames) {
  SetShares(30, 30);
  Run([&] {
    PrepareBoth();
    MakeCurrent(devices_[1]);
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    ASSERT_EQ(cuLibraryLoadData(&library, kModule, nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "spin"), CUDA_SUCCESS);
    MakeCurrent(devices_[0]);
    CUgraph graph = NewGraph();
    uint64_t ns = kNs;
    void* arguments[] = {&ns};
    auto parameters = Kernel(nullptr, arguments);
    parameters.kern = kernel;
    parameters.ctx = devices_[1].context;
    CUgraphNode node = nullptr;
    ASSERT_EQ(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &parameters), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(Instantiate(graph), devices_[0].stream), CUDA_SUCCESS);
    EXPECT_TRUE(IsUntouched(0));
    EXPECT_FALSE(IsUntouched(1));
  });
}

TEST_F(GraphDevicesTest, WhoWaitsForItsStreamIsKnownToHaveLeftNothingOnTheOtherGpu) {
  SetShares(30, 30);
  Run([&] {
    PrepareBoth();
    CUgraph graph = NewGraph();
    Add(graph, devices_[1].spin);
    CUgraphExec exec = Instantiate(graph);
    const InFlight& in_flight = TheRegion()->accounting.in_flight[OwnSlot()][1];
    EXPECT_EQ(cuGraphLaunch(exec, devices_[0].stream), CUDA_SUCCESS);
    EXPECT_NE(in_flight.since, 0U);
    EXPECT_EQ(cuStreamSynchronize(devices_[0].stream), CUDA_SUCCESS);
    EXPECT_EQ(in_flight.since, 0U);
  });
}

TEST_F(GraphDevicesTest, OneThatWasMadeBeforeTheOtherGpusContextIsOfItsOwnOnesShare) {
  SetShares(30, 0);
  Run([&] {
    CUgraph graph = NewGraph();
    Add(graph, spin_);
    CUgraphExec exec = Instantiate(graph);
    PrepareBoth();
    MakeCurrent(devices_[1]);
    const Both shares = SharesOf(exec, devices_[1].stream);
    EXPECT_LE(shares[0], 32u);
    ExpectCharged(0);
  });
}

TEST_F(GraphDevicesTest, OneThatIsLaunchedIntoACapturedStreamCostsNothingUntilThatIsLaunched) {
  SetShares(30, 30);
  Run([&] {
    PrepareBoth();
    CUgraph inner = NewGraph();
    for (const Device& device : devices_) Add(inner, device.spin);
    CUgraphExec exec = Instantiate(inner);
    BeginCapture(devices_[0].stream);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(cuGraphLaunch(exec, devices_[0].stream), CUDA_SUCCESS);
    CUgraph outer = EndCapture(devices_[0].stream);
    EXPECT_TRUE(IsUntouched(0));
    EXPECT_TRUE(IsUntouched(1));
    EXPECT_EQ(cuGraphLaunch(Instantiate(outer), devices_[0].stream), CUDA_SUCCESS);
    EXPECT_FALSE(IsUntouched(0));
    EXPECT_FALSE(IsUntouched(1));
  });
}

// More measurements than there is room for: each GPU's are merged into one of its own.
TEST_F(GraphDevicesTest, OnesThatWaitForTheHostAreMeasuredOnBothOnceTheyAreLetGo) {
  constexpr int kTaught = 3, kLaunches = 150;
  SetShares(90, 90);
  Run([&] {
    PrepareBoth();
    const CUstream stream = devices_[0].stream;
    CUgraph graph = NewGraph();
    Add(graph, devices_[0].spin, kMs);
    CUgraphNode second = Add(graph, devices_[1].spin, kMs);
    CUgraphExec exec = Instantiate(graph);
    for (int i = 0; i < kTaught; ++i) {
      ASSERT_EQ(LaunchAlone(exec, stream), CUDA_SUCCESS);
      ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    }
    Change(exec, second, devices_[1].spin, 2 * kMs);
    Hold(stream);
    for (int i = 0; i < kLaunches; ++i) ASSERT_EQ(LaunchAlone(exec, stream), CUDA_SUCCESS);
    let_go_ = true;
    ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    for (const TimeAccounting& accounting :
         {TheRegion()->accounting.times[0], TheRegion()->accounting.times[1]}) {
      EXPECT_NEAR(static_cast<double>(accounting.used), (kTaught * 2.0 + kLaunches * 3.0) * kMs,
                  10.0 * kMs);
    }
  });
}

}  // namespace
}  // namespace tessera::limiter
