// SPDX-License-Identifier: Apache-2.0
// Attacks by pools, and by graphs that allocate.
#include <vector>

#include "limiter/attacks_memory_test.h"

namespace tessera::limiter {
namespace {

TEST_F(AttacksMemoryTest, APoolThatIsDestroyedStaysCountedAsLongAsItHoldsSegments) {
  Run([&] {
    for (int round = 0; round < 4; ++round) {
      const CUmemoryPool pool = NewPool();
      std::vector<CUdeviceptr> pieces;
      // Two blocks of each segment, of which one stays.
      for (int i = 0; i < 16; ++i) {
        CUdeviceptr small = 0, rest = 0;
        ASSERT_EQ(cuMemAllocFromPoolAsync(&small, 512, pool, nullptr), CUDA_SUCCESS);
        if (cuMemAllocFromPoolAsync(&rest, 32 * kMiB - 512, pool, nullptr) != CUDA_SUCCESS) break;
        pieces.push_back(rest);
      }
      for (const CUdeviceptr piece : pieces) cuMemFreeAsync(piece, nullptr);
      ASSERT_EQ(cuda().As<decltype(cuCtxSynchronize)>("cuCtxSynchronize")(), CUDA_SUCCESS);
      ASSERT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
      ExpectCounted();
      if (Used(0) > 800 * kMiB) break;
    }
    EXPECT_LE(Resident(), 1024 * kMiB);
  });
}

// The free in the first stream waits for its kernel. So an allocation in another stream would make
// the pool grow.
TEST_F(AttacksMemoryTest, AnAllocationThatIsRefusedIsNoWayToMakeAPoolGrow) {
  Run([&] {
    const CUmemoryPool pool = NewPool();
    CUstream streams[6] = {};
    for (CUstream& stream : streams) {
      stream = NewStream();
      Spin(stream, 600'000'000'000);  // for longer than the test
    }
    CUdeviceptr pointer = 0;
    ASSERT_EQ(cuMemAllocFromPoolAsync(&pointer, 480 * kMiB, pool, streams[0]), CUDA_SUCCESS);
    ASSERT_EQ(cuMemFreeAsync(pointer, streams[0]), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc_v2(&pointer, 500 * kMiB), CUDA_SUCCESS);
    for (int i = 1; i < 6; ++i) {
      CUdeviceptr refused = 0;
      EXPECT_EQ(cuMemAllocFromPoolAsync(&refused, 480 * kMiB, pool, streams[i]),
                CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(refused, 0U);
    }
    ExpectCounted();
    EXPECT_LE(Resident(), (500 + 2 * 480) * kMiB);
  });
}

// Race: a capture begins and ends during an allocation in the same stream. The limiter may take the
// allocation for a captured one, which takes no memory.
TEST_F(AttacksMemoryTest, ACaptureThatEndsInTheMidstOfAnAllocationHidesNone) {
  Run([&] {
    CUgraph graph = nullptr;
    ASSERT_EQ(cuda().As<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph, 0), CUDA_SUCCESS);
    CUgraphNodeParams node{};
    node.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    node.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    node.alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    node.alloc.bytesize = 2000 * kMiB;
    CUgraphNode added = nullptr;
    const auto add = cuda().As<decltype(cuGraphAddNode_v2)>("cuGraphAddNode_v2");
    ASSERT_EQ(add(&added, graph, nullptr, nullptr, 0, &node), CUDA_SUCCESS);
    CUgraphExec large = nullptr;
    ASSERT_EQ(cuGraphInstantiateWithFlags(&large, graph, 0), CUDA_SUCCESS);
    const auto begin =
        cuda().As<CUresult(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2");
    const auto end = cuda().As<CUresult(CUstream, CUgraph*)>("cuStreamEndCapture");
    const auto use = cuda().As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent");
    CUcontext context = nullptr;
    ASSERT_EQ(cuda().As<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent")(&context), CUDA_SUCCESS);
    const CUstream stream = NewStream();
    Race(
        5'000,
        [&] {
          CUgraph captured = nullptr;
          ASSERT_EQ(use(context), CUDA_SUCCESS);
          begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
          end(stream, &captured);
        },
        [&] {
          CUdeviceptr pointer = 0;
          const CUresult result = cuMemAllocAsync(&pointer, 2000 * kMiB, stream);
          if (result == CUDA_SUCCESS) {
            EXPECT_LE(Resident(), 1024 * kMiB);
          }
          EXPECT_EQ(cuGraphLaunch(large, stream), CUDA_ERROR_OUT_OF_MEMORY);
        });
    ExpectCounted();
  });
}

}  // namespace
}  // namespace tessera::limiter
