// SPDX-License-Identifier: Apache-2.0
// Two clients of MPS in one container. Their kernels run at the same time, each on half of the GPU.
// They share one memory limit and one share of the time in which either keeps the GPU busy.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "cuda/state.h"
#include "limiter/share_test.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kMebibyte = 1 << 20;

class MpsTest : public ShareTest {
 protected:
  MpsTest() {
    std::ofstream(node_.directory() + "/control") << "";
    node_.Set("CUDA_MPS_PIPE_DIRECTORY", node_.directory());
    node_.Set("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50");
    limits_.devices[0].bytes = 1024 * kMebibyte;
  }

  // The runs of all processes that began since `from`, in their order.
  std::vector<std::pair<uint64_t, uint64_t>> RunsSince(uint64_t from) {
    const auto state = fake_cuda::State::Open(node_.directory(), 0);
    std::vector<std::pair<uint64_t, uint64_t>> runs;
    for (unsigned slot = 0; slot < state->shared().high; ++slot) {
      for (const fake_cuda::Run& run : state->shared().processes[slot].runs) {
        if (run.start >= from && run.start < run.end) runs.emplace_back(run.start, run.end);
      }
    }
    std::sort(runs.begin(), runs.end());
    return runs;
  }
  // Time in ns in which any of them ran.
  static uint64_t Union(const std::vector<std::pair<uint64_t, uint64_t>>& runs) {
    uint64_t sum = 0, end = 0;
    for (const auto& [start, stop] : runs) {
      if (stop > end) sum += stop - std::max(start, end);
      end = std::max(end, stop);
    }
    return sum;
  }
  uint64_t Resident(pid_t pid = 0) {
    return library_->As<uint64_t(const char*, pid_t)>("fakecuda_resident")(kUuid, pid);
  }
};

TEST_F(MpsTest, TwoClientsOfOneContainerHaveOneLimitAndOneShare) {
  int there[2];
  ASSERT_EQ(pipe(there), 0);
  const pid_t other = Start([&] {
    CUdeviceptr address = 0;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cuMemAlloc_v2(&address, 200 * kMebibyte), CUDA_SUCCESS);
    EXPECT_EQ(write(there[1], "", 1), 1);
    for (;;) Spin(2 * kMs);
  });
  Run([&] {
    char byte = 0;
    ASSERT_EQ(read(there[0], &byte, 1), 1);
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc_v2(&address, 400 * kMebibyte), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc_v2(&address, 100 * kMebibyte), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(Used(0), 1000 * kMebibyte);
    EXPECT_EQ(Resident(), 1000 * kMebibyte);

    // Each kernel takes twice as long on its half.
    const uint64_t from = fake_cuda::Now();
    while (fake_cuda::Now() - from < 300 * kMs) ASSERT_EQ(Spin(2 * kMs), CUDA_SUCCESS);
    const uint64_t busy = Union(RunsSince(from));
    EXPECT_LE(busy, kSaved + (fake_cuda::Now() - from) * 32 / 100 + 2 * 4 * kMs);
    EXPECT_GE(busy, kSaved) << "they ran at all";
  });
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  Run([&] {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc_v2(&address, 1000 * kMebibyte), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 1000 * kMebibyte);
    EXPECT_EQ(Resident(getpid()), 1000 * kMebibyte) << "the dead one's goes later";
  });
}

}  // namespace
}  // namespace tessera::limiter
