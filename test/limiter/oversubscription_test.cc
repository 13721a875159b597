// SPDX-License-Identifier: Apache-2.0
// A container whose limit is more than its card's 15 GiB.
#include "limiter/log/said_test.h"
#include "limiter/memory_test.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kGiB = 1024 * kMiB;

class OversubscriptionTest : public MemoryTest {
 protected:
  OversubscriptionTest() {
    limits_.devices[0].bytes = 20 * kGiB;
    limits_.oversubscribe = true;
  }
  bool IsManaged(CUdeviceptr pointer) {
    bool managed = false;
    const auto attribute = CU_POINTER_ATTRIBUTE_IS_MANAGED;
    const auto ask = cuda().As<decltype(cuPointerGetAttribute)>("cuPointerGetAttribute");
    EXPECT_EQ(ask(&managed, attribute, pointer), CUDA_SUCCESS);
    return managed;
  }
  // The managed memory that the region shows for this process.
  static uint64_t Managed() { return TheRegion()->hami.slots[OwnSlot()].used[0].managed; }
  static CUdeviceptr Allocate(uint64_t bytes, CUresult expected = CUDA_SUCCESS) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, bytes), expected);
    return pointer;
  }
};

TEST_F(OversubscriptionTest, WhatTheCardHasNoRoomForIsManagedCountedAndFreedAlike) {
  Run([&] {
    const CUdeviceptr on_card = Allocate(14 * kGiB), beyond = Allocate(4 * kGiB);
    EXPECT_FALSE(IsManaged(on_card));
    EXPECT_TRUE(IsManaged(beyond));
    EXPECT_EQ(Used(0), 18 * kGiB);
    EXPECT_EQ(Managed(), 4 * kGiB);
    Allocate(3 * kGiB, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuMemFree_v2(beyond), CUDA_SUCCESS);
    EXPECT_EQ(Managed(), 0u);
    ExpectTrue(14 * 1024);
  });
}

TEST_F(OversubscriptionTest, WhoAsksIsToldOfEachThatIsManaged) {
  limits_.log_level = 3;
  Run([&] {
    const std::string gpu = " bytes of " + std::string(kUuid);
    EXPECT_EQ(Said([&] { Allocate(14 * kGiB); }), "");
    EXPECT_EQ(Said([&] { Allocate(4 * kGiB); }),
              "managed: 4294967296" + gpu +
                  ", which has no room for them; 19327352832 of 21474836480 are held\n");
    EXPECT_EQ(Said([&] { Allocate(3 * kGiB, CUDA_ERROR_OUT_OF_MEMORY); }),
              "denied: 3221225472" + gpu + "; 19327352832 of 21474836480 are held\n");
  });
}

TEST_F(OversubscriptionTest, RowsToo) {
  Run([&] {
    Allocate(15 * kGiB);
    CUdeviceptr pointer = 0;
    size_t pitch = 0;
    ASSERT_EQ(cuMemAllocPitch_v2(&pointer, &pitch, 1000, 1024 * 1024, 4), CUDA_SUCCESS);
    EXPECT_TRUE(IsManaged(pointer));
    EXPECT_EQ(pitch, 1024u);
    EXPECT_EQ(Used(0), 16 * kGiB);
    EXPECT_EQ(Managed(), kGiB);
    EXPECT_EQ(cuMemFree_v2(pointer), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 15 * kGiB);
    EXPECT_EQ(Managed(), 0u);
  });
}

TEST_F(OversubscriptionTest, WhatIsManagedIsNotShownAnyMoreOnceItsContextEnded) {
  Run([&] {
    Allocate(14 * kGiB);
    CUcontext other = nullptr;
    ASSERT_EQ(cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
    Allocate(4 * kGiB);
    EXPECT_EQ(Managed(), 4 * kGiB);
    ASSERT_EQ(cuCtxDestroy_v2(other), CUDA_SUCCESS);
    EXPECT_EQ(Managed(), 0u);
    ExpectTrue(14 * 1024);
  });
}

TEST_F(OversubscriptionTest, SmallBlocksThatAreManagedAreAmongTheOthers) {
  Run([&] {
    Allocate(15 * kGiB);
    const CUdeviceptr block = Allocate(64 << 10);
    EXPECT_TRUE(IsManaged(block));
    EXPECT_EQ(Used(0), 15 * kGiB + 2 * kMiB);
    EXPECT_EQ(Managed(), 0u);
    EXPECT_EQ(cuMemFree_v2(block), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 15 * kGiB);
  });
}

TEST_F(OversubscriptionTest, PoolsVirtualMemoryAndArraysAreOnTheCardOrNowhere) {
  Run([&] {
    Allocate(15 * kGiB);
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAllocAsync(&pointer, kMiB, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(cuMemCreate(&handle, 2 * kMiB, &wanted, 0), CUDA_ERROR_OUT_OF_MEMORY);
    const CUDA_ARRAY_DESCRIPTOR square{
        .Width = 4096, .Height = 4096, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUarray array = nullptr;
    EXPECT_EQ(cuArrayCreate_v2(&array, &square), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(15 * 1024);
  });
}

TEST_F(OversubscriptionTest, ACardThatMovesNoPagesWhileItRunsIsTheLimit) {
  node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0,moves-pages=0");
  Run([&] {
    Allocate(14 * kGiB);
    Allocate(4 * kGiB, CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(14 * 1024);
  });
}

TEST_F(OversubscriptionTest, UnlessItIsAskedForTheCardIsTheLimit) {
  limits_.oversubscribe = false;
  Run([&] {
    Allocate(14 * kGiB);
    Allocate(4 * kGiB, CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(14 * 1024);
  });
}

TEST_F(OversubscriptionTest, TheLimitIsShownAndWhatIsLeftOfIt) {
  Run([&] {
    Allocate(14 * kGiB);
    Allocate(4 * kGiB);
    size_t free = 0, total = 0;
    EXPECT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    EXPECT_EQ(free, 2 * kGiB);
    EXPECT_EQ(total, 20 * kGiB);
    EXPECT_EQ(cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
    EXPECT_EQ(total, 20 * kGiB);
  });
}

}  // namespace
}  // namespace tessera::limiter
