// SPDX-License-Identifier: Apache-2.0
// Memory that contexts take, and what is freed with them.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "limiter/driver/driver.h"
#include "limiter/driver/nvml.h"
#include "limiter/memory/contexts.h"
#include "limiter/memory/newcomer.h"
#include "limiter/memory_test.h"
#include "test/cuda/truth.h"

namespace tessera::limiter {
namespace {

class ContextsTest : public MemoryTest {
 protected:
  ContextsTest() { node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=200"); }
  // Runs the body in a process without a context.
  template <typename Body>
  void RunBare(Body body) {
    EXPECT_TRUE(node_.Run([&](const fake_cuda::Library& cuda) {
      library_ = &cuda;
      ASSERT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
      ASSERT_TRUE(JoinWith(limits_)) << Meaning(WhyAlone());
      body(cuda);
      if (HasFailure()) throw std::runtime_error("see above");
    }));
  }
};

TEST_F(ContextsTest, WhatIsInAContextGoesWithIt) {
  node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0");
  Run([&] {
    CUdeviceptr outside = 0;
    ASSERT_EQ(cuMemAlloc_v2(&outside, 100 * kMiB), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(cuda().As<decltype(cuCtxCreate_v2)>("cuCtxCreate_v2")(&context, 0, 0), CUDA_SUCCESS);
    CUdeviceptr inside = 0;
    ASSERT_EQ(cuMemAlloc_v2(&inside, 200 * kMiB), CUDA_SUCCESS);
    const CUDA_ARRAY_DESCRIPTOR wanted{
        .Width = 4096, .Height = 4096, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUarray array = nullptr;
    ASSERT_EQ(cuArrayCreate_v2(&array, &wanted), CUDA_SUCCESS);
    ExpectTrue(364);
    ASSERT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
    ExpectTrue(100);
    CUcontext primary = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(ContextsTest, WhatIsInAContextGoesWithItFromAThreadThatHasNone) {
  RunBare([&](const fake_cuda::Library& cuda) {
    NoteContextBytes(0, 200 * kMiB);
    CUcontext primary = nullptr;
    CUdeviceptr pointer = 0;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuCtxSetCurrent)(primary), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc_v2(&pointer, 100 * kMiB), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuCtxSetCurrent)(nullptr), CUDA_SUCCESS);
    ExpectTrue(300);
    ASSERT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    ExpectTrue(0);
    CUcontext current = primary;
    EXPECT_EQ(CALL(cuCtxGetCurrent)(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, nullptr);
  });
}

// Otherwise each process on a node that queries a GPU would take a context's memory of it.
TEST_F(ContextsTest, WhatIsAskedWithoutAContextMakesNone) {
  RunBare([&](const fake_cuda::Library& cuda) {
    const auto own = [&] { return CALL(fakecuda_resident)(kUuid, getpid()); };
    size_t bytes = 0;
    EXPECT_EQ(cuDeviceTotalMem_v2(&bytes, 0), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 1024 * kMiB);
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, kMiB), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 2048 * kMiB), CUDA_ERROR_INVALID_CONTEXT);
    size_t free = 0;
    EXPECT_EQ(cuMemGetInfo_v2(&free, &bytes), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(own(), 0u);
    const fake_cuda::Library nvml(FAKE_NVML);
    nvmlDevice_t device = nullptr;
    nvmlMemory_t memory{};
    unsigned processes = 0;
    ASSERT_EQ(nvml.As<decltype(nvmlInit_v2)>("nvmlInit_v2")(), NVML_SUCCESS);
    ASSERT_EQ(nvml.As<decltype(nvmlDeviceGetHandleByIndex_v2)>("nvmlDeviceGetHandleByIndex_v2")(
                  0, &device),
              NVML_SUCCESS);
    EXPECT_EQ(nvmlDeviceGetMemoryInfo(device, &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.free, 1024 * kMiB);
    EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(device, &processes, nullptr), NVML_SUCCESS);
    EXPECT_EQ(processes, 0u);
    EXPECT_EQ(own(), 0u);
    CUcontext context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(own(), 200 * kMiB);
  });
}

TEST_F(ContextsTest, AContextIsCountedOnceSomebodyCouldLook) {
  Run([&] {
    // The first context was made without the limiter.
    EXPECT_EQ(Used(0), 0u);
    CUcontext contexts[4];
    ASSERT_EQ(cuCtxCreate_v2(&contexts[0], 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 200 * kMiB);
    EXPECT_EQ(TheRegion()->hami.slots[OwnSlot()].used[0].context, 200 * kMiB);
    for (int i = 1; i < 4; ++i) ASSERT_EQ(cuCtxCreate_v2(&contexts[i], 0, 0), CUDA_SUCCESS);
    CUcontext refused = nullptr;
    EXPECT_EQ(Used(0), 800 * kMiB);
    EXPECT_EQ(cuCtxCreate_v2(&refused, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxCreate_v2(&refused, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(Resident(), 1200 * kMiB);
    for (int i = 0; i < 4; ++i) ASSERT_EQ(cuCtxDestroy_v2(contexts[i]), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 200 * kMiB);
  });
}

TEST_F(ContextsTest, WithTheSizeOfAContextKnownItsFirstOneIsCountedToo) {
  EXPECT_TRUE(node_.Run([&](const fake_cuda::Library& cuda) {
    ASSERT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    ASSERT_TRUE(JoinWith(limits_));
    NoteContextBytes(0, 200 * kMiB);
    CUcontext context = nullptr;
    CUcontext again = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 200 * kMiB);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 200 * kMiB);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 0u);
    EXPECT_TRUE(Reserve(0, 900 * kMiB, Kind::kData));
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_OUT_OF_MEMORY);
    if (HasFailure()) throw std::runtime_error("see above");
  }));
}

TEST_F(ContextsTest, AFirstContextIsCountedAsSoonAsALaterOneTellsWhatItTakes) {
  RunBare([&](const fake_cuda::Library& cuda) {
    CUcontext first = nullptr, second = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 0u);
    ASSERT_EQ(CALL(cuCtxSetCurrent)(first), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
    ExpectTrue(400);
    EXPECT_EQ(TheRegion()->hami.slots[OwnSlot()].used[0].context, 400 * kMiB);
    ASSERT_EQ(cuCtxDestroy_v2(second), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(ContextsTest, WhereNvmlTellsWhatAFirstContextTakesItIsCounted) {
  RunBare([&](const fake_cuda::Library& cuda) {
    const fake_cuda::Library nvml(FAKE_NVML);
    CUcontext first = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
    ExpectTrue(200);
    EXPECT_EQ(ContextBytes(0), 200 * kMiB);
    EXPECT_EQ(TheRegion()->hami.slots[OwnSlot()].used[0].context, 200 * kMiB);
    unsigned count = 0;
    EXPECT_EQ(nvml.As<decltype(nvmlDeviceGetCount_v2)>("nvmlDeviceGetCount_v2")(&count),
              NVML_ERROR_UNINITIALIZED)
        << "it is left as it was";
    ASSERT_EQ(CALL(cuCtxSetCurrent)(first), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(ContextsTest, WhatNeighboursHoldIsNotOfAFirstContext) {
  node_.Set("TESSERA_FAKE_NVML_PROCESSES", "4194305:104857600");
  RunBare([&](const fake_cuda::Library&) {
    const fake_cuda::Library nvml(FAKE_NVML);
    CUcontext first = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
    ExpectTrue(200);
  });
}

TEST_F(ContextsTest, OfTwoThatAreNewAtOnceNobodyKnowsWhichIsWhich) {
  RunBare([&](const fake_cuda::Library&) {
    const fake_cuda::Library nvml(FAKE_NVML);
    CUcontext first = nullptr;
    const NewContext newcomer(0);
    ASSERT_EQ(TheDriver().cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
    EXPECT_EQ(newcomer.Bytes(), 200 * kMiB);
    setenv("TESSERA_FAKE_NVML_PROCESSES", "4194305:104857600", 1);
    EXPECT_EQ(newcomer.Bytes(), 0u);
  });
}

TEST_F(ContextsTest, AFirstContextThatNvmlTellsHasNoRoomForIsNotMade) {
  limits_.devices[0].bytes = 100 * kMiB;
  RunBare([&](const fake_cuda::Library&) {
    const fake_cuda::Library nvml(FAKE_NVML);
    CUcontext first = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&first, 0), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(0);
  });
}

TEST_F(ContextsTest, AFirstContextIsCountedPastTheLimit) {
  limits_.devices[0].bytes = 300 * kMiB;
  RunBare([&](const fake_cuda::Library& cuda) {
    CUcontext first = nullptr, second = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuCtxSetCurrent)(first), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
    ExpectTrue(400);
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

TEST_F(ContextsTest, WhatAnotherProcessFoundOutCountsWithTheNextModule) {
  RunBare([&](const fake_cuda::Library& cuda) {
    CUcontext first = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuCtxSetCurrent)(first), CUDA_SUCCESS);
    NoteContextBytes(0, 200 * kMiB);
    CUmodule module = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module, ".visible .entry spin(.param .u64 ns) {}"), CUDA_SUCCESS);
    EXPECT_EQ(TheRegion()->hami.slots[OwnSlot()].used[0].context, 200 * kMiB);
    EXPECT_EQ(Used(0), Resident());
  });
}

// Race: the limiter retains the primary context for a moment while the program releases it. The
// program's release must still end it.
TEST_F(ContextsTest, APrimaryContextThatTheLimiterBorrowsEndsByAReleaseOfTheProgramsAlone) {
  RunBare([&](const fake_cuda::Library&) {
    NoteContextBytes(0, 200 * kMiB);
    std::atomic<bool> is_done = false;
    std::thread borrowing([&] {
      while (!is_done) {
        const BorrowedPrimary primary(0);
        std::this_thread::yield();
      }
    });
    for (int round = 0; round < 100 && !HasFailure(); ++round) {
      CUcontext context = nullptr;
      ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
      std::this_thread::yield();
      ASSERT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
      ExpectTrue(0);
    }
    is_done = true;
    borrowing.join();
  });
}

TEST_F(ContextsTest, AContextEndsWithTheLastOneThatDetachesIt) {
  RunBare([&](const fake_cuda::Library&) {
    NoteContextBytes(0, 200 * kMiB);
    CUcontext context = nullptr, again = nullptr;
    ASSERT_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    CUdeviceptr pointer = 0;
    ASSERT_EQ(cuMemAlloc_v2(&pointer, 100 * kMiB), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxAttach(&again, 0), CUDA_SUCCESS);
    ExpectTrue(300);
    EXPECT_EQ(cuCtxDetach(context), CUDA_SUCCESS);
    ExpectTrue(300);
    EXPECT_EQ(cuCtxDetach(context), CUDA_SUCCESS);
    ExpectTrue(0);
    EXPECT_NE(cuCtxDetach(nullptr), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

}  // namespace
}  // namespace tessera::limiter
