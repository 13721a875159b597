// SPDX-License-Identifier: Apache-2.0
// Attacks by threads that write during a call, and by processes that end during one.
#include "limiter/attacks_memory_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace tessera::limiter {
namespace {

// Race: another thread overwrites the returned address while the call still runs. The accounting
// must not rely on the caller's variable.
TEST_F(AttacksMemoryTest, AThreadThatWritesOverAnAnswerChangesNoAccounting) {
  Run([&] {
    CUdeviceptr held = 0;
    ASSERT_EQ(cuMemAlloc_v2(&held, 500 * kMiB), CUDA_SUCCESS);
    std::atomic<CUdeviceptr> answer{held}, stolen{0};
    Race(
        30'000,
        [&] {
          const CUdeviceptr seen = answer;
          if (seen == 0 || seen == held) return std::this_thread::yield();
          stolen = seen;
          answer = held;
        },
        [&] {
          answer = 0;
          EXPECT_EQ(cuMemAlloc_v2(reinterpret_cast<CUdeviceptr*>(&answer), 2 * kMiB), CUDA_SUCCESS);
          while (answer != held) std::this_thread::yield();
          EXPECT_EQ(cuMemFree_v2(stolen), CUDA_SUCCESS);
          EXPECT_EQ(Used(0), 500 * kMiB);
        });
    ExpectTrue(500);
  });
}

// Race: another thread changes the call's arguments. The accounting must not read them a second
// time, after the driver did.
TEST_F(AttacksMemoryTest, AThreadThatWritesOverAQuestionChangesNoAccounting) {
  Run([&] {
    CUmemAllocationProp wanted = PinnedIn(CU_MEM_LOCATION_TYPE_DEVICE);
    volatile auto* const type = &wanted.location.type;
    Race(
        5'000,
        [&] {
          *type = *type == CU_MEM_LOCATION_TYPE_DEVICE ? CU_MEM_LOCATION_TYPE_HOST
                                                       : CU_MEM_LOCATION_TYPE_DEVICE;
        },
        [&] {
          CUmemGenericAllocationHandle handle = 0;
          ASSERT_EQ(cuMemCreate(&handle, 2 * kMiB, &wanted, 0), CUDA_SUCCESS);
          ExpectCounted();
          ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        });
    CUDA_ARRAY_DESCRIPTOR array{
        .Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
    volatile size_t* const width = &array.Width;
    Race(
        5'000, [&] { *width = *width == 1024 ? 128 : 1024; },
        [&] {
          CUarray made = nullptr;
          ASSERT_EQ(cuArrayCreate_v2(&made, &array), CUDA_SUCCESS);
          ASSERT_GE(Used(0), Resident());
          ASSERT_EQ(cuArrayDestroy(made), CUDA_SUCCESS);
        });
    ExpectTrue(0);
  });
}

// Race: another thread allocates in the primary context while the destruction of a large context
// frees its memory. The new memory must not be taken for freed.
TEST_F(AttacksMemoryTest, WhatIsAllocatedWhileAContextEndsStaysCounted) {
  Run([&] {
    CUcontext primary = nullptr, context = nullptr;
    ASSERT_EQ(cuda().As<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent")(&primary), CUDA_SUCCESS);
    const auto use = cuda().As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent");
    const auto create = [&] { return cuCtxCreate_v2(&context, 0, 0); };
    for (int round = 0; round < 10 && !HasFailure(); ++round) {
      ASSERT_EQ(create(), CUDA_SUCCESS);
      CUdeviceptr pointer = 0;
      for (int i = 0; i < 20'000; ++i) ASSERT_EQ(cuMemAlloc_v2(&pointer, 512), CUDA_SUCCESS);
      for (int i = 0; i < 4; ++i) ASSERT_EQ(cuMemAlloc_v2(&pointer, 250 * kMiB), CUDA_SUCCESS);
      ASSERT_EQ(use(primary), CUDA_SUCCESS);
      std::vector<CUdeviceptr> all;
      std::atomic<bool> ended{false};
      std::thread other([&] {
        use(primary);
        while (!ended) {
          CUdeviceptr got = 0;
          if (cuMemAlloc_v2(&got, 250 * kMiB) == CUDA_SUCCESS) all.push_back(got);
        }
      });
      EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
      ended = true;
      other.join();
      ExpectCounted();
      for (const CUdeviceptr got : all) cuMemFree_v2(got);
    }
    ExpectTrue(0);
  });
}

// Race: the card has the dead process's memory back while the accounting still counts it.
TEST_F(AttacksMemoryTest, AProcessThatIsKilledWhileCodeIsLoadedHidesNoneOfIt) {
  const std::string path = node_.directory() + "/code";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t killed = node_.Start([&](const fake_cuda::Library& cuda) {
    Prepare(cuda);
    CUdeviceptr pointer = 0;
    if (cuMemAlloc_v2(&pointer, 600 * kMiB) != CUDA_SUCCESS) _exit(1);
    if (write(ready[1], "", 1) != 1) _exit(1);
    for (;;) pause();
  });
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  Run([&] {
    EXPECT_EQ(Used(0), 600 * kMiB);
    signal(SIGPIPE, SIG_IGN);
    std::atomic<bool> over{false};
    std::thread writer([&] {
      for (bool is_first = true; !over; is_first = false) {
        FILE* const file = fopen(path.c_str(), "w");
        kill(killed, SIGKILL);
        while (is_first && Resident() != 0) std::this_thread::yield();
        fprintf(file, ".visible .entry spin() { ret; }\n.global .align 4 .b8 table[%llu];\n",
                600ULL << 20);
        fclose(file);
      }
    });
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoad(&module, path.c_str()), CUDA_SUCCESS);
    over = true;
    const int unblocked = open(path.c_str(), O_RDONLY | O_NONBLOCK);
    writer.join();
    close(unblocked);
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 500 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(600);
  });
  waitpid(killed, nullptr, 0);
}

}  // namespace
}  // namespace tessera::limiter
