// SPDX-License-Identifier: Apache-2.0
// Blocks that are smaller than what the driver takes of a card for them.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <thread>
#include <vector>

#include "limiter/memory_test.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kKiB = 1024;

class SmallBlocksTest : public MemoryTest {
 protected:
  SmallBlocksTest() { limits_.devices[0].bytes = 64 * kMiB; }
  static CUdeviceptr Allocate(uint64_t bytes, CUresult expected = CUDA_SUCCESS) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, bytes), expected);
    return pointer;
  }
  // As many as the limit allows.
  static std::vector<CUdeviceptr> AllocateAll(uint64_t bytes) {
    std::vector<CUdeviceptr> all;
    CUdeviceptr pointer = 0;
    while (cuMemAlloc_v2(&pointer, bytes) == CUDA_SUCCESS) all.push_back(pointer);
    return all;
  }
  static void Free(const std::vector<CUdeviceptr>& all) {
    for (const CUdeviceptr pointer : all) EXPECT_EQ(cuMemFree_v2(pointer), CUDA_SUCCESS);
  }
  // Frees all but the first block of each chunk, and returns these.
  static std::vector<CUdeviceptr> FreeAllButOneOfEach(const std::vector<CUdeviceptr>& all) {
    std::vector<CUdeviceptr> kept;
    for (const CUdeviceptr pointer : all) {
      if (pointer % (2 * kMiB) == 0) {
        kept.push_back(pointer);
      } else {
        EXPECT_EQ(cuMemFree_v2(pointer), CUDA_SUCCESS);
      }
    }
    return kept;
  }
  void UseContext(CUcontext context) {
    EXPECT_EQ(cuda().As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(context), CUDA_SUCCESS);
  }
  CUcontext Context() {
    CUcontext context = nullptr;
    EXPECT_EQ(cuda().As<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent")(&context), CUDA_SUCCESS);
    return context;
  }
};

TEST_F(SmallBlocksTest, AChunkCountsFromItsFirstBlockUntilItsLastIsFreed) {
  Run([&] {
    const CUdeviceptr first = Allocate(1);
    ExpectTrue(2);
    const CUdeviceptr second = Allocate(kMiB);
    ExpectTrue(2);
    const CUdeviceptr third = Allocate(kMiB);
    ExpectTrue(4);
    Free({first});
    ExpectTrue(4);
    Free({second});
    ExpectTrue(2);
    EXPECT_NE(cuMemFree_v2(second), CUDA_SUCCESS);
    ExpectTrue(2);
    Free({third});
    ExpectTrue(0);
  });
}

TEST_F(SmallBlocksTest, WhoKeepsOneBlockOfEachChunkHoldsNoMoreThanTheLimit) {
  Run([&] {
    std::vector<CUdeviceptr> kept;
    for (int round = 0; round < 3; ++round) {
      for (const CUdeviceptr one : FreeAllButOneOfEach(AllocateAll(4 * kKiB))) kept.push_back(one);
      ExpectTrue(64);
    }
    EXPECT_EQ(kept.size(), 32u);
    Allocate(2 * kMiB, CUDA_ERROR_OUT_OF_MEMORY);
    Free(kept);
    ExpectTrue(0);
  });
}

TEST_F(SmallBlocksTest, AtTheLimitABlockIsHadWhereverAChunkHasRoom) {
  Run([&] {
    const CUdeviceptr all[] = {Allocate(62 * kMiB), Allocate(512 * kKiB), Allocate(kMiB)};
    ExpectTrue(64);
    Allocate(513 * kKiB, CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(64);
    const CUdeviceptr fourth = Allocate(512 * kKiB);
    Allocate(1, CUDA_ERROR_OUT_OF_MEMORY);
    Free({all[2]});
    Free({Allocate(kMiB), all[1], fourth, all[0]});
    ExpectTrue(0);
  });
}

TEST_F(SmallBlocksTest, FreeMemoryIsShownAsTheDriverWouldShowIt) {
  Run([&] {
    size_t free = 0, total = 0;
    const CUdeviceptr block = Allocate(4 * kKiB);
    EXPECT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    EXPECT_EQ(free, 62 * kMiB);
    EXPECT_EQ(total, 64 * kMiB);
    Free({Allocate(4 * kKiB), block});
    EXPECT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    EXPECT_EQ(free, 64 * kMiB);
  });
}

TEST_F(SmallBlocksTest, EveryWayOfAllocatingSmallBlocksIsCountedByTheirAddress) {
  Run([&] {
    CUdeviceptr rows = 0, managed = 0;
    size_t pitch = 0;
    ASSERT_EQ(cuMemAllocPitch_v2(&rows, &pitch, 100, 100, 4), CUDA_SUCCESS);
    const CUdeviceptr block = Allocate(100);
    ExpectTrue(2);
    ASSERT_EQ(cuMemAllocManaged(&managed, 100, 1), CUDA_SUCCESS);
    ExpectTrue(4);
    Free({rows, managed});
    ExpectTrue(2);
    EXPECT_EQ(cuMemFreeAsync(block, nullptr), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(SmallBlocksTest, AnArrayCountsAsIfNothingElseWereInItsChunk) {
  Run([&] {
    const CUDA_ARRAY_DESCRIPTOR small{
        .Width = 16, .Height = 1, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    for (int round = 0; round < 64; ++round) {
      CUdeviceptr block = 0;
      CUarray array = nullptr;
      if (cuMemAlloc_v2(&block, kMiB) == CUDA_SUCCESS) {
        cuArrayCreate_v2(&array, &small);
        // Puts the next block into another chunk.
        CUdeviceptr filled = 0;
        cuMemAlloc_v2(&filled, kMiB - 512);
        cuMemFree_v2(block);
        if (filled != 0) cuMemFree_v2(filled);
      }
      EXPECT_LE(Resident(), Used(0));
    }
    EXPECT_LE(Used(0), 64 * kMiB);
  });
}

TEST_F(SmallBlocksTest, SmallBlocksGoWithTheirContext) {
  Run([&] {
    CUcontext const primary = Context();
    const CUdeviceptr block = Allocate(4 * kKiB);
    CUcontext context = nullptr;
    for (int round = 0; round < 3; ++round) {
      ASSERT_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
      for (int i = 0; i < 1000; ++i) Allocate(4 * kKiB);
      ExpectTrue(6);
      ASSERT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
      ExpectTrue(2);
    }
    UseContext(primary);
    Free({block});
    ExpectTrue(0);
  });
}

TEST_F(SmallBlocksTest, ThreadsThatAllocateSmallBlocksAtOnceNeverPassTheLimit) {
  constexpr unsigned kThreads = 8;
  Run([&] {
    CUcontext const context = Context();
    std::vector<std::vector<CUdeviceptr>> held(kThreads);
    const auto all_at_once = [&](auto body) {
      std::vector<std::thread> threads;
      for (unsigned i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
          UseContext(context);
          body(i);
        });
      }
      for (std::thread& thread : threads) thread.join();
    };
    all_at_once([&](unsigned i) {
      std::mt19937 random(i);
      for (int round = 0; round < 20'000; ++round) {
        CUdeviceptr pointer = 0;
        if (random() % 3 != 0 && cuMemAlloc_v2(&pointer, 1 + random() % kMiB) == CUDA_SUCCESS) {
          held[i].push_back(pointer);
        } else if (!held[i].empty()) {
          std::swap(held[i].back(), held[i][random() % held[i].size()]);
          EXPECT_EQ(cuMemFree_v2(held[i].back()), CUDA_SUCCESS);
          held[i].pop_back();
        }
        if (round % 64 != 0) continue;
        EXPECT_LE(Used(0), 64 * kMiB);
        // Only the driver knows whether a block fits into an existing chunk. So each thread may
        // hold a chunk more until it has counted its block.
        EXPECT_LE(Resident(), (64 + 2 * kThreads) * kMiB);
      }
    });
    EXPECT_EQ(Used(0), Resident());
    EXPECT_LE(Resident(), 64 * kMiB);
    all_at_once([&](unsigned i) { Free(held[i]); });
    ExpectTrue(0);
  });
}

TEST_F(SmallBlocksTest, WhatProcessesHoldInChunksIsGivenBackWhenTheyAreKilled) {
  node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0,late-ms=0");
  constexpr int kProcesses = 4;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  std::vector<pid_t> others;
  for (int i = 0; i < kProcesses; ++i) {
    others.push_back(node_.Start([&](const fake_cuda::Library& cuda) {
      library_ = &cuda;
      Prepare(cuda);
      FreeAllButOneOfEach(AllocateAll(100 * kKiB));
      EXPECT_EQ(write(ready[1], "", 1), 1);
      for (;;) pause();
    }));
  }
  Run([&] {
    char byte = 0;
    for (int i = 0; i < kProcesses; ++i) EXPECT_EQ(read(ready[0], &byte, 1), 1);
    ExpectTrue(64);
    for (const pid_t other : others) kill(other, SIGKILL);
    while (!Reserve(0, 64 * kMiB, Kind::kData)) {
    }
    Release(0, 64 * kMiB, Kind::kData);
    Free({Allocate(64 * kMiB)});
    ExpectTrue(0);
  });
  for (const pid_t other : others) waitpid(other, nullptr, 0);
}

}  // namespace
}  // namespace tessera::limiter
