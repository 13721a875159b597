// SPDX-License-Identifier: Apache-2.0
// Memory that graphs allocate when they run.
#include "limiter/graph_memory_test.h"

namespace tessera::limiter {
namespace {

TEST_F(GraphMemoryTest, WhatADeviceKeepsForGraphsIsCountedFromTheLaunchToTheTrim) {
  Run([&] {
    const CUgraphExec exec = Temporary(99 * kMiB);
    ExpectTrue(0);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
    ExpectTrue(100);
    EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
    ExpectTrue(100);
    EXPECT_EQ(cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(GraphMemoryTest, ALaunchPastTheLimitIsOutOfMemoryAndNothingElse) {
  Run([&] {
    const CUgraphExec exec = Temporary(1026 * kMiB);
    EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuGraphLaunch_ptsz(exec, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuGraphLaunch(exec, NewStream()), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(0);
    EXPECT_EQ(cuGraphLaunch(Temporary(1024 * kMiB), nullptr), CUDA_SUCCESS);
    ExpectTrue(1024);
  });
}

TEST_F(GraphMemoryTest, WhatGraphsDoNotUseIsNoHindranceToOthers) {
  Run([&] {
    const CUgraphExec first = Temporary(600 * kMiB), second = Temporary(700 * kMiB);
    ASSERT_EQ(cuGraphLaunch(first, nullptr), CUDA_SUCCESS);
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 1000 * kMiB), CUDA_SUCCESS);
    ExpectTrue(1000);
    EXPECT_EQ(cuGraphLaunch(first, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuMemFree_v2(pointer), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(first, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(second, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), Resident());
  });
}

TEST_F(GraphMemoryTest, AGraphThatHasItsMemoryRunsAgainHoweverLittleRoomIsLeft) {
  Run([&] {
    const CUgraphExec exec = Temporary(600 * kMiB);
    ASSERT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
    CUdeviceptr pointer = 0;
    ASSERT_EQ(cuMemAlloc_v2(&pointer, 424 * kMiB), CUDA_SUCCESS);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
    ExpectTrue(1024);
  });
}

TEST_F(GraphMemoryTest, WhatAGraphLeavesAllocatedStaysCountedUntilItIsFreed) {
  Run([&] {
    CUgraph graph = NewGraph();
    const CUdeviceptr address = AddAllocation(graph, 600 * kMiB);
    ASSERT_EQ(cuGraphLaunch(Instantiate(graph), nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(Temporary(600 * kMiB), nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(600);
    EXPECT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(Temporary(600 * kMiB), nullptr), CUDA_SUCCESS);
    ExpectTrue(600);
  });
}

// The driver gives an allocation that follows another one's free the same address.
TEST_F(GraphMemoryTest, AllocationsThatFollowOnEachOtherAreNotAddedUp) {
  Run([&] {
    CUgraph graph = NewGraph();
    for (int i = 0; i < 5; ++i) AddFree(graph, AddAllocation(graph, 600 * kMiB));
    EXPECT_EQ(cuGraphLaunch(Instantiate(graph), nullptr), CUDA_SUCCESS);
    ExpectTrue(600);
    for (int i = 0; i < 2; ++i) AddAllocation(graph, 600 * kMiB);
    EXPECT_EQ(cuGraphLaunch(Instantiate(graph), nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

TEST_F(GraphMemoryTest, AGraphInAGraphIsCountedWithIt) {
  Run([&] {
    CUgraph inner = NewGraph(), outer = NewGraph();
    AddFree(inner, AddAllocation(inner, 1200 * kMiB));
    CUgraphNode node = nullptr;
    const auto add = cuda().As<decltype(cuGraphAddChildGraphNode)>("cuGraphAddChildGraphNode");
    ASSERT_EQ(add(&node, outer, nullptr, 0, inner), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(Instantiate(outer), nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(0);
  });
}

TEST_F(GraphMemoryTest, WhatIsCapturedIsCountedWhenItRunsAndNotBefore) {
  Run([&] {
    CUdeviceptr held = 0;
    ASSERT_EQ(cuMemAlloc_v2(&held, 1000 * kMiB), CUDA_SUCCESS);
    const CUstream stream = NewStream();
    CUgraph graph = nullptr;
    CUdeviceptr address = 0;
    using Begin = CUresult(CUstream, CUstreamCaptureMode);
    ASSERT_EQ(cuda().As<Begin>("cuStreamBeginCapture_v2")(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_SUCCESS);
    EXPECT_EQ(cuMemAllocAsync(&address, 500 * kMiB, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeAsync(address, stream), CUDA_SUCCESS);
    using End = CUresult(CUstream, CUgraph*);
    ASSERT_EQ(cuda().As<End>("cuStreamEndCapture")(stream, &graph), CUDA_SUCCESS);
    ExpectTrue(1000);
    const CUgraphExec exec = Instantiate(graph);
    EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuMemFree_v2(held), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    ExpectTrue(500);
  });
}

TEST_F(GraphMemoryTest, ALaunchThatIsCapturedTakesNothing) {
  Run([&] {
    const CUgraphExec exec = Temporary(600 * kMiB), large = Temporary(1200 * kMiB);
    const CUstream stream = NewStream();
    CUgraph graph = nullptr;
    using Begin = CUresult(CUstream, CUstreamCaptureMode);
    ASSERT_EQ(cuda().As<Begin>("cuStreamBeginCapture_v2")(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(large, stream), CUDA_ERROR_OUT_OF_MEMORY);
    using End = CUresult(CUstream, CUgraph*);
    ASSERT_EQ(cuda().As<End>("cuStreamEndCapture")(stream, &graph), CUDA_SUCCESS);
    ExpectTrue(0);
    EXPECT_EQ(cuGraphLaunch(Instantiate(graph), nullptr), CUDA_SUCCESS);
    ExpectTrue(600);
  });
}

TEST_F(GraphMemoryTest, WhatIsKeptForGraphsGoesWithThePrimaryContext) {
  Run([&] {
    CUcontext primary = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphLaunch(Temporary(600 * kMiB), nullptr), CUDA_SUCCESS);
    CUdeviceptr pooled = 0;
    ASSERT_EQ(cuMemAllocAsync(&pooled, 100 * kMiB, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

// Each graph ran once in the stream, so all of them have the memory that one of them took.
TEST_F(GraphMemoryTest, WhatAGraphLeavesAllocatedIsNotTheNextOnesAgain) {
  Run([&] {
    CUgraphExec execs[5] = {};
    for (CUgraphExec& exec : execs) {
      CUgraph graph = NewGraph();
      const CUdeviceptr address = AddAllocation(graph, 400 * kMiB);
      exec = Instantiate(graph);
      ASSERT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
      ASSERT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
    }
    int launched = 0;
    for (const CUgraphExec exec : execs) {
      if (cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS) ++launched;
    }
    EXPECT_EQ(launched, 2);
    ExpectTrue(800);
  });
}

}  // namespace
}  // namespace tessera::limiter
