// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>

#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

using Handle = CUmemGenericAllocationHandle;

class VmmTest : public CudaTest {
 protected:
  static CUmemAllocationProp On(CUmemLocationType where, int device = 0) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.location = {where, device};
    return properties;
  }
  static Handle Create(const Library& cuda, uint64_t bytes,
                       CUmemLocationType where = CU_MEM_LOCATION_TYPE_DEVICE,
                       CUresult expected = CUDA_SUCCESS) {
    const CUmemAllocationProp properties = On(where);
    Handle handle = 0;
    EXPECT_EQ(CALL(cuMemCreate)(&handle, bytes, &properties, 0), expected);
    return handle;
  }
  static CUdeviceptr Reserve(const Library& cuda, uint64_t bytes) {
    CUdeviceptr address = 0;
    auto* reserve =
        cuda.As<CUresult(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long)>(
            "cuMemAddressReserve");
    EXPECT_EQ(reserve(&address, bytes, 0, 0, 0), CUDA_SUCCESS);
    return address;
  }
};

TEST_F(VmmTest, MemoryIsTheCardsUntilItIsReleasedAndMappedNowhere) {
  OnGpu([](const Gpu& cuda) {
    const Handle handle = Create(cuda, 100 * kMiB);
    const CUdeviceptr address = Reserve(cuda, 200 * kMiB);
    EXPECT_EQ(cuda.Resident(), 100U);
    EXPECT_EQ(CALL(cuMemMap)(address, 100 * kMiB, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemMap)(address + 100 * kMiB, 100 * kMiB, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CALL(cuMemUnmap)(address, 100 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 100U);
    EXPECT_EQ(CALL(cuMemAddressFree)(address, 200 * kMiB), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CALL(cuMemUnmap)(address + 100 * kMiB, 100 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
    EXPECT_EQ(CALL(cuMemAddressFree)(address, 200 * kMiB), CUDA_SUCCESS);
  });
}

TEST_F(VmmTest, OneUnmapTakesSeveralWholeMappingsAndNoPartOfOne) {
  OnGpu([](const Gpu& cuda) {
    const CUdeviceptr address = Reserve(cuda, 8 * kMiB);
    for (uint64_t at = 0; at < 8 * kMiB; at += 4 * kMiB) {
      const Handle handle = Create(cuda, 4 * kMiB);
      EXPECT_EQ(CALL(cuMemMap)(address + at, 4 * kMiB, 0, handle, 0), CUDA_SUCCESS);
      EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_SUCCESS);
    }
    EXPECT_EQ(CALL(cuMemUnmap)(address, 6 * kMiB), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CALL(cuMemUnmap)(address, 8 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(VmmTest, AHandleThatIsFoundByItsAddressKeepsTheMemory) {
  OnGpu([](const Gpu& cuda) {
    const Handle handle = Create(cuda, 2 * kMiB);
    const CUdeviceptr address = Reserve(cuda, 2 * kMiB);
    EXPECT_EQ(CALL(cuMemMap)(address, 2 * kMiB, 0, handle, 0), CUDA_SUCCESS);
    Handle again = 0;
    EXPECT_EQ(CALL(cuMemRetainAllocationHandle)(&again, reinterpret_cast<void*>(address + 7)),
              CUDA_SUCCESS);
    EXPECT_EQ(again, handle);
    EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemUnmap)(address, 2 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 2U);
    EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(VmmTest, SizesAreOfWholeChunksAndTheCardHasNoMoreThanItHas) {
  OnGpu([](const Gpu& cuda) {
    size_t granularity = 0;
    const CUmemAllocationProp properties = On(CU_MEM_LOCATION_TYPE_DEVICE);
    EXPECT_EQ(CALL(cuMemGetAllocationGranularity)(&granularity, &properties,
                                                  CU_MEM_ALLOC_GRANULARITY_MINIMUM),
              CUDA_SUCCESS);
    EXPECT_EQ(granularity, 2 * kMiB);
    Create(cuda, kMiB, CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_INVALID_VALUE);
    Create(cuda, 15362 * kMiB, CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_OUT_OF_MEMORY);
    const CUmemAllocationProp nowhere = On(CU_MEM_LOCATION_TYPE_DEVICE, 5);
    Handle handle = 0;
    EXPECT_EQ(CALL(cuMemCreate)(&handle, 2 * kMiB, &nowhere, 0), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(VmmTest, MemoryOfTheHostIsNotTheCards) {
  OnGpu([](const Gpu& cuda) {
    Create(cuda, 64 * kMiB, CU_MEM_LOCATION_TYPE_HOST_NUMA);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(VmmTest, MemoryThatAProcessExportsAndImportsItHasOnce) {
  OnGpu([](const Gpu& cuda) {
    const Handle handle = Create(cuda, 64 * kMiB);
    int file = -1;
    EXPECT_EQ(CALL(cuMemExportToShareableHandle)(&file, handle,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_SUCCESS);
    Handle again = 0;
    EXPECT_EQ(CALL(cuMemImportFromShareableHandle)(
                  &again, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
              CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 64U);
    EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 64U);
    EXPECT_EQ(CALL(cuMemRelease)(again), CUDA_SUCCESS);
    EXPECT_EQ(cuda.ResidentOf(0), 64U) << "a descriptor has it";
    close(file);
    EXPECT_EQ(cuda.ResidentOf(0), 0U);
  });
}

// The child is forked before either process has the driver, so it inherits no descriptor. It opens
// the file by name.
TEST_F(VmmTest, WhatAnotherProcessImportsTheCardHasOnceAndUntilItIsReleased) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t owner = node_.Start([&](const Library& library) {
    const Gpu cuda(library);
    int file = -1;
    EXPECT_EQ(CALL(cuMemExportToShareableHandle)(&file, Create(cuda, 64 * kMiB),
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(write(ready[1], &file, sizeof file), ssize_t{sizeof file});
    for (;;) pause();
  });
  int theirs = -1;
  ASSERT_EQ(read(ready[0], &theirs, sizeof theirs), ssize_t{sizeof theirs});
  OnGpu([&](const Gpu& cuda) {
    const std::string path = "/proc/" + std::to_string(owner) + "/fd/" + std::to_string(theirs);
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    Handle handle = 0;
    EXPECT_EQ(CALL(cuMemImportFromShareableHandle)(
                  &handle, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
              CUDA_SUCCESS);
    close(file);
    EXPECT_EQ(cuda.Resident(), 0U);
    EXPECT_EQ(cuda.ResidentOf(0), 64U);
    EXPECT_EQ(kill(owner, SIGKILL), 0);
    while (cuda.ResidentOf(owner) != 0) usleep(1'000);
    EXPECT_EQ(cuda.ResidentOf(0), 64U);
    EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_SUCCESS);
    EXPECT_EQ(cuda.ResidentOf(0), 0U);
  });
  EXPECT_EQ(waitpid(owner, nullptr, 0), owner);
}

TEST_F(VmmTest, AMulticastObjectHasNoMemoryAndKeepsWhatIsBoundToIt) {
  OnGpu([](const Gpu& cuda) {
    auto* make = cuda.As<CUresult(Handle*, const CUmulticastObjectProp*)>("cuMulticastCreate");
    auto* add = cuda.As<CUresult(Handle, CUdevice)>("cuMulticastAddDevice");
    auto* bind = cuda.As<CUresult(Handle, size_t, Handle, size_t, size_t, unsigned long long)>(
        "cuMulticastBindMem");
    auto* unbind = cuda.As<CUresult(Handle, CUdevice, size_t, size_t)>("cuMulticastUnbind");
    const CUmulticastObjectProp wanted{1, 200 * kMiB, 0, 0};
    Handle object = 0;
    ASSERT_EQ(make(&object, &wanted), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
    const Handle memory = Create(cuda, 100 * kMiB);
    EXPECT_EQ(bind(object, 0, memory, 0, 100 * kMiB, 0), CUDA_ERROR_INVALID_VALUE)
        << "before its team is there";
    EXPECT_EQ(add(object, 0), CUDA_SUCCESS);
    EXPECT_EQ(add(object, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(bind(object, 150 * kMiB, memory, 0, 100 * kMiB, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(bind(object, 0, memory, 0, 100 * kMiB, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemRelease)(memory), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 100U);
    EXPECT_EQ(unbind(object, 0, 0, 100 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
    EXPECT_EQ(CALL(cuMemRelease)(object), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
