// SPDX-License-Identifier: Apache-2.0
// Memory that is not a device's is neither counted nor refused, even if it exceeds the limit.
#include <sys/mman.h>

#include "limiter/exports_test.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kMuch = 4096 * kMiB;  // four times the limit

class UncountedTest : public ExportsTest {
 protected:
  // The whole limit is still free.
  void ExpectUncounted() {
    ExpectTrue(0);
    CUdeviceptr pointer = 0;
    ASSERT_EQ(cuMemAlloc_v2(&pointer, 1024 * kMiB), CUDA_SUCCESS);
    ASSERT_EQ(cuMemFree_v2(pointer), CUDA_SUCCESS);
  }
};

TEST_F(UncountedTest, PinnedMemory) {
  Run([&] {
    void *pinned = nullptr, *other = nullptr;
    ASSERT_EQ(cuda().As<CUresult(void**, size_t)>("cuMemAllocHost_v2")(&pinned, kMuch),
              CUDA_SUCCESS);
    ASSERT_EQ(cuda().As<CUresult(void**, size_t, unsigned)>("cuMemHostAlloc")(&other, kMuch, 0),
              CUDA_SUCCESS);
    ExpectUncounted();
    const auto free = cuda().As<CUresult(void*)>("cuMemFreeHost");
    EXPECT_EQ(free(pinned), CUDA_SUCCESS);
    EXPECT_EQ(free(other), CUDA_SUCCESS);
    ExpectUncounted();
  });
}

TEST_F(UncountedTest, MemoryOfTheProgramsThatIsRegistered) {
  Run([&] {
    void* const own =
        mmap(nullptr, kMuch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(own, MAP_FAILED);
    ASSERT_EQ(cuda().As<CUresult(void*, size_t, unsigned)>("cuMemHostRegister_v2")(own, kMuch, 0),
              CUDA_SUCCESS);
    ExpectUncounted();
    EXPECT_EQ(cuda().As<CUresult(void*)>("cuMemHostUnregister")(own), CUDA_SUCCESS);
    ExpectUncounted();
  });
}

TEST_F(UncountedTest, VirtualMemoryOfTheHostAndOfItsNumaNodes) {
  Run([&] {
    for (const CUmemLocationType where : {CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA,
                                          CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT}) {
      SCOPED_TRACE(where);
      const CUmemAllocationProp wanted = PinnedIn(where);
      Handle handle = 0;
      ASSERT_EQ(cuMemCreate(&handle, kMuch, &wanted, 0), CUDA_SUCCESS);
      const CUdeviceptr mapped = Map(handle, kMuch);
      ExpectUncounted();
      EXPECT_EQ(cuMemUnmap(mapped, kMuch), CUDA_SUCCESS);
      ExpectUncounted();
    }
  });
}

// Device memory that is bound to it is counted.
TEST_F(UncountedTest, AMulticastObject) {
  Run([&] {
    using Bind = CUresult(Handle, size_t, Handle, size_t, size_t, unsigned long long);
    const CUmulticastObjectProp wanted{
        .numDevices = 1, .size = kMuch, .handleTypes = 0, .flags = 0};
    Handle object = 0;
    ASSERT_EQ(cuda().As<CUresult(Handle*, const CUmulticastObjectProp*)>("cuMulticastCreate")(
                  &object, &wanted),
              CUDA_SUCCESS);
    ASSERT_EQ(cuda().As<CUresult(Handle, CUdevice)>("cuMulticastAddDevice")(object, 0),
              CUDA_SUCCESS);
    const CUdeviceptr address = Addresses(kMuch);
    ASSERT_EQ(cuMemMap(address, kMuch, 0, object, 0), CUDA_SUCCESS);
    ExpectUncounted();
    const Handle memory = Create(100 * kMiB);
    ASSERT_EQ(cuda().As<Bind>("cuMulticastBindMem")(object, 0, memory, 0, 100 * kMiB, 0),
              CUDA_SUCCESS);
    ExpectTrue(100);
    ASSERT_EQ(cuda().As<CUresult(Handle, CUdevice, size_t, size_t)>("cuMulticastUnbind")(
                  object, 0, 0, 100 * kMiB),
              CUDA_SUCCESS);
    EXPECT_EQ(cuMemUnmap(address, kMuch), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(object), CUDA_SUCCESS);
    ExpectTrue(100);
    EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
    ExpectUncounted();
  });
}

}  // namespace
}  // namespace tessera::limiter
