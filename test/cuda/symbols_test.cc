// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

using Status = CUdriverProcAddressQueryResult;

class SymbolsTest : public CudaTest {
 protected:
  struct Answer {
    CUresult result;
    void* address;
    Status status;
  };
  static Answer Ask(const Library& cuda, const char* name, int version, cuuint64_t flags = 0) {
    Answer answer{CUDA_ERROR_UNKNOWN, nullptr, CU_GET_PROC_ADDRESS_SUCCESS};
    answer.result =
        CALL(cuGetProcAddress_v2)(name, &answer.address, version, flags, &answer.status);
    return answer;
  }
};

TEST_F(SymbolsTest, AProgramIsGivenTheFunctionOfItsVersion) {
  InProcess([](const Library& cuda) {
    EXPECT_EQ(Ask(cuda, "cuMemAlloc", 2000).address, cuda.Find("cuMemAlloc"));
    EXPECT_EQ(Ask(cuda, "cuMemAlloc", 3010).address, cuda.Find("cuMemAlloc"));
    EXPECT_EQ(Ask(cuda, "cuMemAlloc", 3020).address, cuda.Find("cuMemAlloc_v2"));
    EXPECT_EQ(Ask(cuda, "cuMemAlloc", 12080).address, cuda.Find("cuMemAlloc_v2"));
    EXPECT_EQ(Ask(cuda, "cuMemPrefetchAsync", 8000).address, cuda.Find("cuMemPrefetchAsync"));
    EXPECT_EQ(Ask(cuda, "cuMemPrefetchAsync", 12020).address, cuda.Find("cuMemPrefetchAsync_v2"));
    EXPECT_EQ(Ask(cuda, "cuGetProcAddress", 12000).address, cuda.Find("cuGetProcAddress_v2"));
  });
}

TEST_F(SymbolsTest, ADefaultStreamOfTheThreadsOwnHasFunctionsOfItsOwn) {
  InProcess([](const Library& cuda) {
    constexpr cuuint64_t kLegacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    constexpr cuuint64_t kOwn = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    EXPECT_EQ(Ask(cuda, "cuLaunchKernel", 12080).address, cuda.Find("cuLaunchKernel"));
    EXPECT_EQ(Ask(cuda, "cuLaunchKernel", 12080, kLegacy).address, cuda.Find("cuLaunchKernel"));
    EXPECT_EQ(Ask(cuda, "cuLaunchKernel", 12080, kOwn).address, cuda.Find("cuLaunchKernel_ptsz"));
    EXPECT_EQ(Ask(cuda, "cuLaunchKernel", 4000, kOwn).address, cuda.Find("cuLaunchKernel"));
    EXPECT_EQ(Ask(cuda, "cuMemcpyHtoD", 12080, kOwn).address, cuda.Find("cuMemcpyHtoD_v2_ptds"));
    EXPECT_EQ(Ask(cuda, "cuMemAlloc", 12080, kOwn).address, cuda.Find("cuMemAlloc_v2"));
  });
}

TEST_F(SymbolsTest, WhatThereIsNotIsToldFromWhatIsNewer) {
  InProcess([](const Library& cuda) {
    const Answer none = Ask(cuda, "cuMemAllocate", 12080);
    EXPECT_EQ(none.result, CUDA_SUCCESS);
    EXPECT_EQ(none.address, nullptr);
    EXPECT_EQ(none.status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    const Answer newer = Ask(cuda, "cuMemAllocAsync", 11010);
    EXPECT_EQ(newer.result, CUDA_SUCCESS);
    EXPECT_EQ(newer.address, nullptr);
    EXPECT_EQ(newer.status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    EXPECT_EQ(Ask(cuda, "cuMemAlloc_v2", 12080).status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    EXPECT_EQ(Ask(cuda, "cuMemAlloc", 12090).result, CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Ask(cuda, "cuMemAlloc", 12080, 3).result, CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Ask(cuda, nullptr, 12080).result, CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(SymbolsTest, TheFirstFormSaysSoByItsResult) {
  InProcess([](const Library& cuda) {
    void* address = &address;
    EXPECT_EQ(CALL(cuGetProcAddress)("cuMemAllocate", &address, 12080, 0), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(address, nullptr);
    EXPECT_EQ(CALL(cuGetProcAddress)("cuInit", &address, 12080, 0), CUDA_SUCCESS);
    EXPECT_EQ(address, cuda.Find("cuInit"));
  });
}

TEST_F(SymbolsTest, WhatIsNotSimulatedIsThereAndSaysSo) {
  OnGpu([](const Gpu& cuda) {
    EXPECT_EQ(cuda.As<CUresult()>("cuGraphicsMapResources")(), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(cuda.As<CUresult()>("cuMulticastBindAddr")(), CUDA_ERROR_NOT_SUPPORTED);
  });
}

TEST_F(SymbolsTest, OneTableWithoutNamesIsKnown) {
  InProcess([](const Library& cuda) {
    const CUuuid unknown{};
    const CUuuid known{{0x6b, static_cast<char>(0xd5), static_cast<char>(0xfb), 0x6c, 0x5b,
                        static_cast<char>(0xf4), static_cast<char>(0xe7), 0x4a,
                        static_cast<char>(0x89), static_cast<char>(0x87), static_cast<char>(0xd9),
                        0x39, 0x12, static_cast<char>(0xfd), static_cast<char>(0x9d),
                        static_cast<char>(0xf9)}};
    const void* table = nullptr;
    EXPECT_EQ(CALL(cuGetExportTable)(&table, &unknown), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(table, nullptr);
    EXPECT_EQ(CALL(cuGetExportTable)(&table, &known), CUDA_SUCCESS);
    EXPECT_EQ(*static_cast<const uint64_t*>(table), 16U);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
