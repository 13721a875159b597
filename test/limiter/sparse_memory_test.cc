// SPDX-License-Identifier: Apache-2.0
// Arrays, and the memory that is mapped into them.
#include <vector>

#include "limiter/memory_test.h"

namespace tessera::limiter {
namespace {

using Handle = CUmemGenericAllocationHandle;

constexpr unsigned kSide = 16384;  // elements of 4 bytes: 1 GiB

class SparseMemoryTest : public MemoryTest {
 protected:
  static CUDA_ARRAY3D_DESCRIPTOR Large() {
    return {.Width = kSide,
            .Height = kSide,
            .Depth = 0,
            .Format = CU_AD_FORMAT_FLOAT,
            .NumChannels = 1,
            .Flags = CUDA_ARRAY3D_SPARSE};
  }
  static CUarray NewArray() {
    const CUDA_ARRAY3D_DESCRIPTOR wanted = Large();
    CUarray array = nullptr;
    EXPECT_EQ(cuArray3DCreate_v2(&array, &wanted), CUDA_SUCCESS);
    return array;
  }
  static Handle NewMemory(uint64_t mib, CUresult expected = CUDA_SUCCESS) {
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    wanted.allocFlags.usage = 1;
    Handle handle = 0;
    EXPECT_EQ(cuMemCreate(&handle, mib * kMiB, &wanted, 0), expected);
    return handle;
  }
  // A tile has 128 by 128 elements. Handle 0 unmaps the part.
  static CUarrayMapInfo Part(void* array, unsigned x, unsigned y, unsigned width, unsigned height,
                             Handle handle) {
    CUarrayMapInfo operation{};
    operation.resource = array;
    operation.subresource.sparseLevel = {0, 0, x * 128, y * 128, 0, width * 128, height * 128, 1};
    operation.memOperationType = handle != 0 ? 1 : 2;
    operation.memHandle = handle;
    operation.deviceBitMask = 1;
    return operation;
  }
  static CUresult Do(std::vector<CUarrayMapInfo> all) {
    return cuMemMapArrayAsync(all.data(), static_cast<unsigned>(all.size()), nullptr);
  }
  // Maps 8 MiB for each line of tiles, and releases the handle.
  static void MapLines(void* array, unsigned first, unsigned count) {
    const Handle handle = NewMemory(8 * count);
    EXPECT_EQ(Do({Part(array, 0, first, 128, count, handle)}), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  }
};

TEST_F(SparseMemoryTest, WhatAnArrayHasIsCountedWithoutItsHandle) {
  Run([&] {
    const CUarray array = NewArray();
    ExpectTrue(0);
    for (unsigned i = 0; i < 10; ++i) MapLines(array, 12 * i, 12);
    ExpectTrue(960);
    NewMemory(80, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(Do({Part(array, 0, 0, 128, 12, 0)}), CUDA_SUCCESS);
    ExpectTrue(864);
    NewMemory(80);
  });
}

TEST_F(SparseMemoryTest, TheVariantForAThreadsOwnStreamCountsToo) {
  Run([&] {
    const Handle handle = NewMemory(16);
    CUarrayMapInfo part = Part(NewArray(), 0, 0, 128, 2, handle);
    EXPECT_EQ(cuMemMapArrayAsync_ptsz(&part, 1, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    ExpectTrue(16);
  });
}

TEST_F(SparseMemoryTest, AHandleThatIsHeldKeepsWhatWasUnmapped) {
  Run([&] {
    const CUarray array = NewArray();
    const Handle handle = NewMemory(8);
    EXPECT_EQ(Do({Part(array, 0, 0, 128, 1, handle)}), CUDA_SUCCESS);
    EXPECT_EQ(Do({Part(array, 0, 0, 128, 1, 0)}), CUDA_SUCCESS);
    ExpectTrue(8);
    EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(SparseMemoryTest, WhatIsUnmappedInPartIsHeldUntilTheLastTileOfIt) {
  Run([&] {
    const CUarray array = NewArray();
    MapLines(array, 10, 10);
    // First a hole in the middle. Then the tiles around it, one side after the other, each with
    // tiles that are not mapped.
    EXPECT_EQ(Do({Part(array, 5, 12, 3, 2, 0)}), CUDA_SUCCESS);
    ExpectTrue(80);
    EXPECT_EQ(Do({Part(array, 0, 0, 5, 128, 0), Part(array, 8, 0, 120, 128, 0)}), CUDA_SUCCESS);
    ExpectTrue(80);
    EXPECT_EQ(Do({Part(array, 0, 0, 128, 12, 0)}), CUDA_SUCCESS);
    ExpectTrue(80);
    EXPECT_EQ(Do({Part(array, 0, 14, 128, 5, 0)}), CUDA_SUCCESS);
    ExpectTrue(80);
    EXPECT_EQ(Do({Part(array, 7, 19, 1, 1, 0)}), CUDA_SUCCESS);
    ExpectTrue(80);
    EXPECT_EQ(Do({Part(array, 5, 19, 2, 1, 0)}), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(SparseMemoryTest, WhatIsMappedAnewTakesThePlaceOfWhatWasThere) {
  Run([&] {
    const CUarray array = NewArray();
    MapLines(array, 0, 10);
    MapLines(array, 0, 5);
    ExpectTrue(120);
    MapLines(array, 5, 5);
    ExpectTrue(80);
    // Of two mappings in one call the last one stays.
    const Handle first = NewMemory(80), second = NewMemory(80);
    EXPECT_EQ(Do({Part(array, 0, 0, 128, 10, first), Part(array, 0, 0, 128, 10, second)}),
              CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(first), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(second), CUDA_SUCCESS);
    ExpectTrue(80);
  });
}

TEST_F(SparseMemoryTest, ACallThatFailsChangesNothing) {
  Run([&] {
    const CUarray array = NewArray();
    const Handle handle = NewMemory(8);
    MapLines(array, 0, 1);
    EXPECT_EQ(Do({Part(array, 0, 0, 128, 1, 0), Part(array, 0, 0, 128, 1, handle),
                  Part(array, 0, 128, 128, 1, handle)}),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemMapArrayAsync(nullptr, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
    ExpectTrue(16);
    EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    ExpectTrue(8);
  });
}

TEST_F(SparseMemoryTest, AnArrayGoesWithWhatIsMappedIntoIt) {
  Run([&] {
    const CUarray array = NewArray(), other = NewArray();
    for (unsigned i = 0; i < 5; ++i) MapLines(array, i, 1);
    MapLines(other, 0, 1);
    ExpectTrue(48);
    EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
    ExpectTrue(8);
    EXPECT_NE(cuArrayDestroy(array), CUDA_SUCCESS);
    ExpectTrue(8);
  });
}

TEST_F(SparseMemoryTest, AnArrayThatGoesTakesNothingOfOthersAlong) {
  Run([&] {
    const Handle handle = NewMemory(8);
    std::vector<CUarray> arrays(3'000);
    for (CUarray& array : arrays) {
      array = NewArray();
      ASSERT_EQ(Do({Part(array, 0, 0, 1, 1, handle)}), CUDA_SUCCESS);
    }
    EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    while (!arrays.empty()) {
      ASSERT_EQ(Used(0), 8 * kMiB);
      ASSERT_EQ(cuArrayDestroy(arrays.back()), CUDA_SUCCESS);
      arrays.pop_back();
    }
    ExpectTrue(0);
  });
}

TEST_F(SparseMemoryTest, LevelsAreApartAndGoTogether) {
  Run([&] {
    const CUDA_ARRAY3D_DESCRIPTOR wanted = Large();
    CUmipmappedArray array = nullptr;
    ASSERT_EQ(cuMipmappedArrayCreate(&array, &wanted, 10), CUDA_SUCCESS);
    std::vector<CUarrayMapInfo> parts;
    for (unsigned level = 0; level < 3; ++level) {
      const Handle handle = NewMemory(2);
      parts.push_back(Part(array, 0, 0, 4, 8, handle));
      parts.back().resourceType = 1;
      parts.back().subresource.sparseLevel.level = level;
    }
    parts.push_back(parts[0]);
    parts.back().subresourceType = 1;  // the last levels, which share tiles
    parts.back().subresource.miptail = {.layer = 0, .offset = 0, .size = 2 * kMiB};
    parts.back().memHandle = NewMemory(2);
    EXPECT_EQ(Do(parts), CUDA_SUCCESS);
    for (const CUarrayMapInfo& part : parts) EXPECT_EQ(cuMemRelease(part.memHandle), CUDA_SUCCESS);
    ExpectTrue(8);
    parts[3].memOperationType = 2;
    EXPECT_EQ(Do({parts[3]}), CUDA_SUCCESS);
    ExpectTrue(6);
    EXPECT_EQ(cuMipmappedArrayDestroy(array), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(SparseMemoryTest, WhatIsMappedGoesWithTheContextOfItsArray) {
  Run([&] {
    CUcontext context = nullptr;
    MapLines(NewArray(), 0, 1);
    ASSERT_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    MapLines(NewArray(), 0, 2);
    ExpectTrue(24);
    ASSERT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
    ExpectTrue(8);
  });
}

}  // namespace
}  // namespace tessera::limiter
