// SPDX-License-Identifier: Apache-2.0
// Memory of code, of its variables and of the heaps of kernels.
#include "limiter/modules_test.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace tessera::limiter {
namespace {

TEST_F(ModulesTest, AModuleIsCountedAsOneUntilItIsUnloaded) {
  Options("module-mib=20");
  Run([&] {
    const CUmodule module = Load(kSmall);
    ExpectTrue(20);
    EXPECT_EQ(Shown(), 20 * kMiB);
    EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
    ExpectTrue(0);
    EXPECT_EQ(Shown(), 0u);
  });
}

TEST_F(ModulesTest, EveryWayOfLoadingIsCounted) {
  Options("module-mib=20");
  Run([&] {
    CUmodule module = nullptr;
    CUlibrary library = nullptr;
    EXPECT_EQ(cuModuleLoadDataEx(&module, kSmall, 0, nullptr, nullptr), CUDA_SUCCESS);
    ExpectTrue(20);
    EXPECT_EQ(cuLibraryLoadData(&library, kSmall, nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    ExpectTrue(40);
    EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
    ExpectTrue(20);
    const std::string path = node_.directory() + "/module.ptx";
    Write(path, kSmall);
    EXPECT_EQ(cuModuleLoad(&module, path.c_str()), CUDA_SUCCESS);
    ExpectTrue(40);
    EXPECT_EQ(
        cuLibraryLoadFromFile(&library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        CUDA_SUCCESS);
    ExpectTrue(60);
  });
}

TEST_F(ModulesTest, VariablesOfModulesAreNoWayPastTheLimit) {
  Run([&] {
    int had = 0;
    CUmodule module = nullptr;
    const std::string text = WithVariable(300 * kMiB);
    while (had < 10 && cuModuleLoadData(&module, text.c_str()) == CUDA_SUCCESS) ++had;
    EXPECT_EQ(had, 3);
    Load(text, CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(900);
  });
}

TEST_F(ModulesTest, CodeThatIsLoadedWithItsFirstFunctionIsCountedThen) {
  Options("module-mib=600,lazy=1");
  Run([&] {
    const CUmodule first = Load(kSmall), second = Load(kSmall);
    ExpectTrue(0);
    CUfunction function = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&function, first, "spin"), CUDA_SUCCESS);
    ExpectTrue(600);
    EXPECT_EQ(cuModuleGetFunction(&function, first, "spin"), CUDA_SUCCESS);
    ExpectTrue(600);
    // The code is loaded, and no call unloads it.
    EXPECT_EQ(cuModuleGetFunction(&function, second, "spin"), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(1200);
    EXPECT_EQ(cuModuleUnload(second), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleUnload(first), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(ModulesTest, CodeThatAKernelsFirstLaunchLoadsIsCountedThen) {
  Options("module-mib=20,lazy=1");
  Run([&] {
    // The driver may give a later library's kernels the handles of an unloaded one's.
    for (int i = 0; i < 3; ++i) {
      CUlibrary library = nullptr;
      ASSERT_EQ(cuLibraryLoadData(&library, kSmall, nullptr, nullptr, 0, nullptr, nullptr, 0),
                CUDA_SUCCESS);
      CUkernel kernel = nullptr;
      ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "spin"), CUDA_SUCCESS);
      ExpectTrue(0);
      EXPECT_EQ(Launch(reinterpret_cast<CUfunction>(kernel)), CUDA_SUCCESS);
      ExpectTrue(20);
      EXPECT_EQ(Shown(), 20 * kMiB);
      EXPECT_EQ(Launch(reinterpret_cast<CUfunction>(kernel)), CUDA_SUCCESS);
      ExpectTrue(20);
      EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
      ExpectTrue(0);
    }
  });
}

TEST_F(ModulesTest, CodeOfAFunctionThatNobodyAskedForByNameIsOfItsModule) {
  Options("module-mib=20,lazy=1");
  Run([&] {
    const CUmodule first = Load(kSmall), second = Load(kSmall);
    CUfunction functions[2] = {EnumeratedIn(first), EnumeratedIn(second)};
    ExpectTrue(0);
    EXPECT_EQ(Launch(functions[0]), CUDA_SUCCESS);
    ExpectTrue(20);
    int threads = 0;
    EXPECT_EQ(cuFuncGetAttribute(&threads, 0, functions[1]), CUDA_SUCCESS);
    EXPECT_EQ(threads, 1024);
    ExpectTrue(40);
    EXPECT_EQ(Launch(functions[1]), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleUnload(first), CUDA_SUCCESS);
    ExpectTrue(20);
    EXPECT_EQ(cuModuleUnload(second), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(ModulesTest, AKernelWhoseCodeHasNoRoomIsNotLaunched) {
  Options("module-mib=600,lazy=1");
  Run([&] {
    const auto kernels = cuda().As<uint64_t(pid_t)>("fakecuda_kernels");
    EXPECT_EQ(Launch(EnumeratedIn(Load(kSmall))), CUDA_SUCCESS);
    EXPECT_EQ(kernels(0), 1u);
    EXPECT_EQ(Launch(EnumeratedIn(Load(kSmall))), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(kernels(0), 1u);
    // The code is loaded, and no call unloads it.
    ExpectTrue(1200);
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

TEST_F(ModulesTest, WithSeveralContextsAKernelIsLookedAtInEach) {
  Options("module-mib=20,lazy=1");
  Run([&] {
    CUcontext contexts[2] = {};
    CUfunction functions[2] = {};
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(cuCtxCreate_v2(&contexts[i], 0, 0), CUDA_SUCCESS);
      functions[i] = EnumeratedIn(Load(kSmall));
      EXPECT_EQ(Launch(functions[i]), CUDA_SUCCESS);
      EXPECT_EQ(Launch(functions[i]), CUDA_SUCCESS);
      ExpectTrue(20 * static_cast<uint64_t>(i + 1));
    }
    ASSERT_EQ(cuCtxDestroy_v2(contexts[1]), CUDA_SUCCESS);
    ExpectTrue(20);
  });
}

TEST_F(ModulesTest, ALaunchThatCaptureTakesLoadsItsCodeAndBreaksNothing) {
  Options("module-mib=20,lazy=1");
  Run([&] {
    const CUfunction function = EnumeratedIn(Load(kSmall));
    CUstream stream = nullptr;
    ASSERT_EQ(cuda().As<decltype(cuStreamCreate)>("cuStreamCreate")(&stream, 1), CUDA_SUCCESS);
    using Begin = CUresult(CUstream, CUstreamCaptureMode);
    ASSERT_EQ(cuda().As<Begin>("cuStreamBeginCapture_v2")(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_SUCCESS);
    EXPECT_EQ(Launch(function, stream), CUDA_SUCCESS);
    ExpectTrue(20);
    CUgraph graph = nullptr;
    using End = CUresult(CUstream, CUgraph*);
    EXPECT_EQ(cuda().As<End>("cuStreamEndCapture")(stream, &graph), CUDA_SUCCESS);
    EXPECT_NE(graph, nullptr);
  });
}

TEST_F(ModulesTest, MoreKernelsThanLaunchesKeepAtHandAreStillCountedOnce) {
  Options("module-mib=1,lazy=1");
  limits_.devices[0].bytes = 4000 * kMiB;
  Run([&] {
    constexpr uint64_t kMany = 3000;
    std::vector<CUfunction> functions;
    for (uint64_t i = 0; i < kMany; ++i) functions.push_back(EnumeratedIn(Load(kSmall)));
    for (int i = 0; i < 2; ++i) {
      for (const CUfunction function : functions) EXPECT_EQ(Launch(function), CUDA_SUCCESS);
      ExpectTrue(kMany);
    }
  });
}

TEST_F(ModulesTest, WhatANeighbourTookWhileSomethingLargeWasLoadedIsNotItsSize) {
  // The neighbour takes memory of the card while this process loads code.
  Options("module-mib=20");
  int begin[2], done[2];
  ASSERT_EQ(pipe(begin), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t neighbour = node_.Start([&](const fake_cuda::Library& cuda) {
    CUcontext context = nullptr;
    CUdeviceptr pointer = 0;
    EXPECT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSetCurrent)(context), CUDA_SUCCESS);
    char byte = 0;
    EXPECT_EQ(read(begin[0], &byte, 1), 1);
    EXPECT_EQ(CALL(cuMemAlloc_v2)(&pointer, 500 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(write(done[1], "", 1), 1);
    for (;;) pause();
  });
  Run([&] {
    // The driver reads the image from a pipe while it loads; a later look finds a file.
    const std::string path = node_.directory() + "/module.ptx";
    Write(path + ".file", kSmall);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] {
      FILE* const pipe = fopen(path.c_str(), "w");
      char byte = 0;
      EXPECT_EQ(write(begin[1], "", 1), 1);
      EXPECT_EQ(read(done[0], &byte, 1), 1);
      EXPECT_EQ(rename((path + ".file").c_str(), path.c_str()), 0);
      fputs(kSmall, pipe);
      fclose(pipe);
    });
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoad(&module, path.c_str()), CUDA_SUCCESS);
    writer.join();
    EXPECT_EQ(Used(0), 20 * kMiB);
  });
  kill(neighbour, SIGKILL);
  waitpid(neighbour, nullptr, 0);
}

TEST_F(ModulesTest, ModulesGoWithTheirContext) {
  Options("module-mib=20");
  Run([&] {
    CUcontext context = nullptr;
    ASSERT_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    const CUmodule module = Load(kSmall);
    ExpectTrue(20);
    ASSERT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
    ExpectTrue(0);
    cuModuleUnload(module);
    ExpectTrue(0);
  });
}

TEST_F(ModulesTest, WhatTheDriverDoesNotLoadIsItsAnswer) {
  Run([&] {
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoad(&module, "/nowhere"), CUresult{301});
    EXPECT_EQ(cuModuleLoadData(&module, "no code"), CUresult{200});
    EXPECT_EQ(cuModuleLoadData(nullptr, kSmall), CUDA_ERROR_INVALID_VALUE);
    ExpectTrue(0);
  });
}

TEST_F(ModulesTest, HeapsOfKernelsAreCountedAsTheyGrowAndShrink) {
  Run([&] {
    const auto limit = CU_LIMIT_MALLOC_HEAP_SIZE;
    EXPECT_EQ(cuCtxSetLimit(limit, 108 * kMiB), CUDA_SUCCESS);
    ExpectTrue(100);
    EXPECT_EQ(cuCtxSetLimit(limit, 2000 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(100);
    EXPECT_EQ(cuCtxSetLimit(limit, 58 * kMiB), CUDA_SUCCESS);
    ExpectTrue(50);
    CUcontext primary = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

}  // namespace
}  // namespace tessera::limiter
