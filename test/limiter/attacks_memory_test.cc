// SPDX-License-Identifier: Apache-2.0
// Ways in which a program could hold more of a GPU's memory than its limit, each by calls of the
// driver and of the kernel alone.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "limiter/memory_test.h"

namespace tessera::limiter {
namespace {

class AttacksMemoryTest : public MemoryTest {
 protected:
  // Does it again and again while another thread does something else all the time.
  template <typename Meanwhile, typename Round>
  void Race(int rounds, Meanwhile meanwhile, Round round) {
    std::atomic<bool> over{false};
    std::thread other([&] {
      while (!over) meanwhile();
    });
    for (int i = 0; i < rounds && !HasFailure(); ++i) round();
    over = true;
    other.join();
  }
  CUstream NewStream() {
    CUstream stream = nullptr;
    EXPECT_EQ(cuda().As<decltype(cuStreamCreate)>("cuStreamCreate")(&stream, 1), CUDA_SUCCESS);
    return stream;
  }
  // For longer than the test.
  static void Block(CUstream stream) { Spin(stream, 600'000'000'000); }
  CUmemoryPool NewPool() {
    CUmemPoolProps wanted{};
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(cuda().As<decltype(cuMemPoolCreate)>("cuMemPoolCreate")(&pool, &wanted),
              CUDA_SUCCESS);
    return pool;
  }
  void ExpectCounted() { EXPECT_EQ(Used(0) / kMiB, Resident() / kMiB); }
};

TEST_F(AttacksMemoryTest, AThreadThatWritesOverAnAnswerChangesNoBooks) {
  Run([&] {
    CUdeviceptr held = 0;
    ASSERT_EQ(cuMemAlloc_v2(&held, 500 * kMiB), CUDA_SUCCESS);
    std::atomic<CUdeviceptr> answer{held}, stolen{0};
    Race(
        30'000,
        [&] {
          const CUdeviceptr seen = answer;
          if (seen == 0 || seen == held) return std::this_thread::yield();
          stolen = seen;
          answer = held;
        },
        [&] {
          answer = 0;
          EXPECT_EQ(cuMemAlloc_v2(reinterpret_cast<CUdeviceptr*>(&answer), 2 * kMiB), CUDA_SUCCESS);
          while (answer != held) std::this_thread::yield();
          EXPECT_EQ(cuMemFree_v2(stolen), CUDA_SUCCESS);
          EXPECT_EQ(Used(0), 500 * kMiB);
        });
    ExpectTrue(500);
  });
}

TEST_F(AttacksMemoryTest, AThreadThatWritesOverAQuestionChangesNoBooks) {
  Run([&] {
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    volatile auto* const type = &wanted.location.type;
    Race(
        5'000,
        [&] {
          *type = *type == CU_MEM_LOCATION_TYPE_DEVICE ? CU_MEM_LOCATION_TYPE_HOST
                                                       : CU_MEM_LOCATION_TYPE_DEVICE;
        },
        [&] {
          CUmemGenericAllocationHandle handle = 0;
          ASSERT_EQ(cuMemCreate(&handle, 2 * kMiB, &wanted, 0), CUDA_SUCCESS);
          ExpectCounted();
          ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        });
    CUDA_ARRAY_DESCRIPTOR array{
        .Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
    volatile size_t* const width = &array.Width;
    Race(
        5'000, [&] { *width = *width == 1024 ? 128 : 1024; },
        [&] {
          CUarray made = nullptr;
          ASSERT_EQ(cuArrayCreate_v2(&made, &array), CUDA_SUCCESS);
          ASSERT_GE(Used(0), Resident());
          ASSERT_EQ(cuArrayDestroy(made), CUDA_SUCCESS);
        });
    ExpectTrue(0);
  });
}

TEST_F(AttacksMemoryTest, AHandleThatIsMappedWhileItIsReleasedStaysCounted) {
  Run([&] {
    using Reserve = CUresult(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long);
    CUdeviceptr address = 0;
    ASSERT_EQ(cuda().As<Reserve>("cuMemAddressReserve")(&address, 2 * kMiB, 0, 0, 0), CUDA_SUCCESS);
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    std::atomic<CUmemGenericAllocationHandle> offered{0};
    std::atomic<bool> is_mapped{false};
    int round = 0;
    Race(
        60'000,
        [&] {
          const CUmemGenericAllocationHandle handle = offered;
          if (handle == 0) return std::this_thread::yield();
          is_mapped = cuMemMap(address, 2 * kMiB, 0, handle, 0) == CUDA_SUCCESS;
          offered = 0;
        },
        [&] {
          CUmemGenericAllocationHandle handle = 0;
          ASSERT_EQ(cuMemCreate(&handle, 2 * kMiB, &wanted, 0), CUDA_SUCCESS);
          offered = handle;
          for (volatile int wait = ++round % 256; wait > 0; wait = wait - 1) {
          }
          ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
          while (offered != 0) std::this_thread::yield();
          ExpectCounted();
          if (is_mapped) ASSERT_EQ(cuMemUnmap(address, 2 * kMiB), CUDA_SUCCESS);
          is_mapped = false;
        });
    ExpectTrue(0);
  });
}

TEST_F(AttacksMemoryTest, AHandleThatIsRetainedWhileItIsUnmappedStaysCounted) {
  Run([&] {
    using Reserve = CUresult(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long);
    CUdeviceptr address = 0;
    ASSERT_EQ(cuda().As<Reserve>("cuMemAddressReserve")(&address, 4 * kMiB, 0, 0, 0), CUDA_SUCCESS);
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    std::atomic<bool> is_offered{false};
    std::atomic<CUmemGenericAllocationHandle> retained{0};
    Race(
        20'000,
        [&] {
          if (!is_offered) return std::this_thread::yield();
          CUmemGenericAllocationHandle handle = 0;
          void* const inside = reinterpret_cast<void*>(address + 3 * kMiB);
          if (cuMemRetainAllocationHandle(&handle, inside) == CUDA_SUCCESS) retained = handle;
          is_offered = false;
        },
        [&] {
          CUmemGenericAllocationHandle handle = 0;
          ASSERT_EQ(cuMemCreate(&handle, 4 * kMiB, &wanted, 0), CUDA_SUCCESS);
          ASSERT_EQ(cuMemMap(address, 4 * kMiB, 0, handle, 0), CUDA_SUCCESS);
          ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
          is_offered = true;
          ASSERT_EQ(cuMemUnmap(address, 4 * kMiB), CUDA_SUCCESS);
          while (is_offered) std::this_thread::yield();
          ExpectCounted();
          if (retained != 0) ASSERT_EQ(cuMemRelease(retained), CUDA_SUCCESS);
          retained = 0;
        });
    ExpectTrue(0);
  });
}

TEST_F(AttacksMemoryTest, APoolThatIsDestroyedStaysCountedAsLongAsItHoldsSegments) {
  Run([&] {
    for (int round = 0; round < 4; ++round) {
      const CUmemoryPool pool = NewPool();
      std::vector<CUdeviceptr> pieces;
      // Two of each segment, of which one stays.
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

TEST_F(AttacksMemoryTest, AnAllocationThatIsRefusedIsNoWayToMakeAPoolGrow) {
  Run([&] {
    const CUmemoryPool pool = NewPool();
    CUstream streams[6] = {};
    for (CUstream& stream : streams) {
      stream = NewStream();
      Block(stream);
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
          if (result == CUDA_SUCCESS) EXPECT_LE(Resident(), 1024 * kMiB);
          EXPECT_EQ(cuGraphLaunch(large, stream), CUDA_ERROR_OUT_OF_MEMORY);
        });
    ExpectCounted();
  });
}

TEST_F(AttacksMemoryTest, WhatIsAllocatedWhileAContextEndsStaysCounted) {
  Run([&] {
    CUcontext primary = nullptr, context = nullptr;
    ASSERT_EQ(cuda().As<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent")(&primary), CUDA_SUCCESS);
    const auto use = cuda().As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent");
    const auto create = [&] { return cuCtxCreate_v2(&context, 0, 0); };
    for (int round = 0; round < 10 && !HasFailure(); ++round) {
      ASSERT_EQ(create(), CUDA_SUCCESS);
      CUdeviceptr pointer = 0;
      for (int i = 0; i < 20'000; ++i) ASSERT_EQ(cuMemAlloc_v2(&pointer, 512), CUDA_SUCCESS);
      for (int i = 0; i < 4; ++i) ASSERT_EQ(cuMemAlloc_v2(&pointer, 250 * kMiB), CUDA_SUCCESS);
      ASSERT_EQ(use(primary), CUDA_SUCCESS);
      std::vector<CUdeviceptr> all;
      std::atomic<bool> ended{false};
      std::thread other([&] {
        use(primary);
        while (!ended) {
          CUdeviceptr got = 0;
          if (cuMemAlloc_v2(&got, 250 * kMiB) == CUDA_SUCCESS) all.push_back(got);
        }
      });
      EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
      ended = true;
      other.join();
      ExpectCounted();
      for (const CUdeviceptr got : all) cuMemFree_v2(got);
    }
    ExpectTrue(0);
  });
}

// Its memory is the card's again while the books have it still.
TEST_F(AttacksMemoryTest, AProcessThatIsKilledWhileCodeIsLoadedHidesNoneOfIt) {
  const std::string path = node_.directory() + "/code";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t killed = node_.Start([&](const fake_cuda::Library& cuda) {
    Prepare(cuda);
    CUdeviceptr pointer = 0;
    if (cuMemAlloc_v2(&pointer, 600 * kMiB) != CUDA_SUCCESS) _exit(1);
    if (write(ready[1], "", 1) != 1) _exit(1);
    for (;;) pause();
  });
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  Run([&] {
    EXPECT_EQ(Used(0), 600 * kMiB);
    signal(SIGPIPE, SIG_IGN);
    std::atomic<bool> over{false};
    std::thread writer([&] {
      for (bool is_first = true; !over; is_first = false) {
        FILE* const file = fopen(path.c_str(), "w");
        kill(killed, SIGKILL);
        while (is_first && Resident() != 0) std::this_thread::yield();
        fprintf(file, ".visible .entry spin() { ret; }\n.global .align 4 .b8 table[%llu];\n",
                600ULL << 20);
        fclose(file);
      }
    });
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoad(&module, path.c_str()), CUDA_SUCCESS);
    over = true;
    const int unblocked = open(path.c_str(), O_RDONLY | O_NONBLOCK);
    writer.join();
    close(unblocked);
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 500 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(600);
  });
  waitpid(killed, nullptr, 0);
}

}  // namespace
}  // namespace tessera::limiter
