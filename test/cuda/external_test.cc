// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class ExternalTest : public CudaTest {
 protected:
  static CUresult Import(const Library& cuda, CUexternalMemory* memory, int file, uint64_t bytes) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC what{};
    what.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    what.handle.fd = file;
    what.size = bytes;
    return CALL(cuImportExternalMemory)(memory, &what);
  }
  static int Export(const Gpu& cuda, uint64_t bytes) {
    return CALL(fakecuda_export)(cuda.Uuid().c_str(), bytes);
  }
};

TEST_F(ExternalTest, MemoryOfAnotherInterfaceIsTheCardsUntilNobodyHasIt) {
  OnGpu([](const Gpu& cuda) {
    const int files[] = {Export(cuda, 100 * kMiB), Export(cuda, 200 * kMiB)};
    EXPECT_EQ(cuda.ResidentOf(0), 300U);
    close(files[0]);
    EXPECT_EQ(cuda.ResidentOf(0), 200U);
    CUexternalMemory memory = nullptr;
    EXPECT_EQ(Import(cuda, &memory, files[1], 200 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(fcntl(files[1], F_GETFD), -1) << "it is the driver's";
    EXPECT_EQ(cuda.ResidentOf(0), 200U);
    EXPECT_EQ(CALL(cuDestroyExternalMemory)(memory), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuDestroyExternalMemory)(memory), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuda.ResidentOf(0), 0U);
  });
}

TEST_F(ExternalTest, ADescriptorOfLessOrOfNothingIsRefusedAndStaysTheCallers) {
  OnGpu([](const Gpu& cuda) {
    CUexternalMemory memory = nullptr;
    const int file = Export(cuda, 100 * kMiB), other = dup(0);
    EXPECT_EQ(Import(cuda, &memory, file, 200 * kMiB), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Import(cuda, &memory, file, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Import(cuda, &memory, other, kMiB), CUDA_ERROR_INVALID_VALUE);
    EXPECT_NE(fcntl(file, F_GETFD), -1);
    EXPECT_EQ(Export(cuda, uint64_t{1} << 50), -1) << "the card has no more";
  });
}

TEST_F(ExternalTest, ABufferIsAPartOfItAndIsFreedAsMemory) {
  OnGpu([](const Gpu& cuda) {
    using Map = CUresult(CUdeviceptr*, CUexternalMemory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC*);
    Map* const map = cuda.As<Map>("cuExternalMemoryGetMappedBuffer");
    CUexternalMemory memory = nullptr;
    ASSERT_EQ(Import(cuda, &memory, Export(cuda, 100 * kMiB), 100 * kMiB), CUDA_SUCCESS);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC what{};
    what.offset = 40 * kMiB;
    what.size = 60 * kMiB;
    CUdeviceptr address = 0;
    EXPECT_EQ(map(&address, memory, &what), CUDA_SUCCESS);
    size_t bytes = 0;
    EXPECT_EQ(CALL(cuMemGetAddressRange_v2)(nullptr, &bytes, address + kMiB), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 60 * kMiB);
    EXPECT_EQ(cuda.ResidentOf(0), 100U);
    EXPECT_EQ(cuda.Free(address), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Free(address), CUDA_ERROR_INVALID_VALUE);
    what.size = 61 * kMiB;
    EXPECT_EQ(map(&address, memory, &what), CUDA_ERROR_INVALID_VALUE);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
