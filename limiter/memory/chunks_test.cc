// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/chunks.h"

#include "limiter/accounting/container_test.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kBlock = 0x7f12'3440'0000;

class ChunksTest : public Container {
 protected:
  ChunksTest() {
    limits_.count = 2;
    limits_.devices[1].bytes = 100 * kMiB;
    std::strcpy(limits_.devices[1].uuid, "GPU-bb");
  }
  // Like a thread that allocates.
  static bool Put(int place, uint64_t block) {
    EXPECT_TRUE(Reserve(place, kChunk, Kind::kData));
    return PutIntoChunk(place, block, true);
  }
  static void Free(uint64_t block) { EndFree(BeginFree(block), true); }
};

TEST_F(ChunksTest, AChunkIsCountedOnceForAllItsBlocks) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Put(0, kBlock));
    EXPECT_TRUE(Put(0, kBlock + kChunk - 512));
    EXPECT_EQ(Used(0), kChunk);
    EXPECT_TRUE(Put(0, kBlock + kChunk));
    EXPECT_EQ(Used(0), 2 * kChunk);
    Free(kBlock);
    EXPECT_EQ(Used(0), 2 * kChunk);
    Free(kBlock + kChunk - 512);
    EXPECT_EQ(Used(0), kChunk);
    Free(kBlock + kChunk);
    EXPECT_EQ(Used(0), 0u);
  });
}

TEST_F(ChunksTest, AChunkCountsUntilTheDriverHasItsLastBlock) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Put(0, kBlock));
    EXPECT_TRUE(Put(0, kBlock + 512));
    Chunk* const first = BeginFree(kBlock);
    Chunk* const second = BeginFree(kBlock + 512);
    EndFree(second, true);
    EXPECT_EQ(Used(0), kChunk);
    EndFree(first, true);
    EXPECT_EQ(Used(0), 0u);
    EXPECT_EQ(BeginFree(kBlock), nullptr);
  });
}

TEST_F(ChunksTest, WhatTheDriverDoesNotTakeBackIsStillThere) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Put(0, kBlock));
    Chunk* const chunk = BeginFree(kBlock + 512);
    // In between another thread allocates a block and frees it.
    EXPECT_TRUE(Put(0, kBlock + 1024));
    Free(kBlock + 1024);
    EndFree(chunk, false);
    EXPECT_EQ(Used(0), kChunk);
    Free(kBlock);
    EXPECT_EQ(Used(0), 0u);
  });
}

TEST_F(ChunksTest, AnAddressThatIsAnotherDevicesBeforeItsLastBlockIsSaidToBeFreeCountsThere) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Put(0, kBlock));
    Chunk* const chunk = BeginFree(kBlock);
    EXPECT_TRUE(PutIntoChunk(1, kBlock, false));
    EXPECT_EQ(Used(0), 0u);
    EXPECT_EQ(Used(1), kChunk);
    EndFree(chunk, true);
    EXPECT_EQ(Used(1), kChunk);
    Free(kBlock);
    EXPECT_EQ(Used(1), 0u);
  });
}

TEST_F(ChunksTest, OfAContextThatEndedNothingIsLeftButWhatCameMeanwhile) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Put(0, kBlock));
    EXPECT_TRUE(Put(0, kBlock + kChunk));
    MarkChunks(nullptr);
    EXPECT_TRUE(Put(0, kBlock));
    ReleaseChunks(nullptr);
    EXPECT_EQ(Used(0), kChunk);
    EXPECT_EQ(BeginFree(kBlock + kChunk), nullptr);
    ReleaseChunks(nullptr);
    EXPECT_EQ(Used(0), kChunk);
  });
}

TEST_F(ChunksTest, WhereALargeBlockBeginsIsNoChunk) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Put(0, kBlock));
    ForgetChunk(kBlock);
    EXPECT_EQ(Used(0), 0u);
    EXPECT_EQ(BeginFree(kBlock), nullptr);
    ForgetChunk(kBlock);
    ForgetChunk(~uint64_t{0});
    EXPECT_EQ(Used(0), 0u);
  });
}

TEST_F(ChunksTest, WithoutRoomABlockIsPutWhereAChunkIsAlone) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Put(0, kBlock));
    EXPECT_TRUE(Reserve(0, 98 * kMiB, Kind::kData));
    EXPECT_TRUE(PutIntoChunk(0, kBlock + 512, false));
    EXPECT_FALSE(PutIntoChunk(0, kBlock + kChunk, false));
    EXPECT_EQ(Used(0), 100 * kMiB);
    Release(0, 98 * kMiB, Kind::kData);
    EXPECT_TRUE(PutIntoChunk(0, kBlock + kChunk, false));
    EXPECT_EQ(Used(0), 2 * kChunk);
  });
}

TEST_F(ChunksTest, WhatFoundNoRoomIsNotTriedAgainBeforeThereMayBeSome) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_FALSE(MayFit(0, 1));
    EXPECT_TRUE(Put(0, kBlock));
    EXPECT_TRUE(Put(0, kBlock + 512));
    EXPECT_TRUE(MayFit(0, 1 * kMiB));
    NoteFull(0, 1000);
    EXPECT_FALSE(MayFit(0, 1000));
    EXPECT_TRUE(MayFit(0, 999));
    // A block is freed while another thread tries whether one fits.
    Free(kBlock);
    NoteFull(0, 999);
    EXPECT_TRUE(MayFit(0, 1 * kMiB));
    EXPECT_FALSE(MayFit(1, 1));
  });
}

}  // namespace
}  // namespace tessera::limiter
