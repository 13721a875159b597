// SPDX-License-Identifier: Apache-2.0
// Shares of the time of several GPUs, which do not affect each other.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>

#include "limiter/devices_test.h"

namespace tessera::limiter {
namespace {

TEST_F(DevicesTest, AProcessHasOfEachGpuItsOwnShare) {
  SetShares(30, 60);
  Run([&] {
    PrepareBoth();
    const uint64_t from = fake_cuda::Now(), ns = 2 * kMs;
    const Both before = BusyOnBoth();
    std::atomic<bool> is_over = false;
    std::thread second([&] {
      MakeCurrent(devices_[1]);
      while (!is_over) EXPECT_EQ(Spin(devices_[1], ns), CUDA_SUCCESS);
    });
    // However late the machine runs the launches, in the end the second GPU gets more time than the
    // first one may.
    Both shares{};
    do {
      EXPECT_EQ(Spin(devices_[0], ns), CUDA_SUCCESS);
      shares = SharesSince(from, before, BusyOnBoth(), ns);
    } while (fake_cuda::Now() - from < 500 * kMs ||
             (shares[1] < 40 && fake_cuda::Now() - from < 20'000 * kMs));
    is_over = true;
    second.join();
    EXPECT_LE(shares[0], 32u);
    EXPECT_GE(shares[1], 40u);
    EXPECT_LE(shares[1], 62u);
  });
}

TEST_F(DevicesTest, ALaunchOnSeveralGpusIsOfTheShareOfEach) {
  for (const auto& [first, second] : {std::pair<uint32_t, uint32_t>{30, 60}, {60, 30}}) {
    SCOPED_TRACE(first);
    SetShares(first, second);
    Run([&] {
      PrepareBoth();
      const uint64_t from = fake_cuda::Now(), ns = 20 * kMs;
      const Both before = BusyOnBoth();
      while (fake_cuda::Now() - from < 600 * kMs) ASSERT_EQ(SpinOnBoth(ns), CUDA_SUCCESS);
      const Both now = BusyOnBoth();
      const Both shares = SharesSince(from, before, now, ns);
      EXPECT_LE(shares[0], 32u);
      EXPECT_LE(shares[1], 32u);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_GE(now[i] - before[i], 100 * kMs) << "it ran at all";
        EXPECT_GE(TheRegion()->accounting.times[i].used + 3 * ns, now[i] - before[i])
            << "it is charged for what it did";
      }
    });
  }
}

// As in a collective, each kernel runs once its peer's has arrived: here their streams wait for
// each other. One of the GPUs owes 0.9 s, for which another kernel's launch would wait 9 s.
TEST_F(DevicesTest, RanksThatWaitForEachOtherAreHeldUpForAMomentABurst) {
  constexpr int kBursts = 5, kSteps = 20;
  int ends[2];  // one for each rank
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  SetShares(10, 10);
  const auto meet = [](void* data) {
    char byte = 0;
    const int end = *static_cast<int*>(data);
    EXPECT_EQ(write(end, &byte, 1), 1);
    EXPECT_EQ(read(end, &byte, 1), 1);
  };
  const auto run = [&](size_t rank) {
    if (rank == 1) close(ends[0]);
    PrepareBoth();
    const Device& device = devices_[rank];
    MakeCurrent(device);
    Load(*library_);
    TimeAccounting* const accounting = &TheRegion()->accounting.times[1];
    if (rank == 1) Correct(accounting, fake_cuda::Now(), 10, 900 * kMs);
    const auto call = library_->As<CUresult(CUstream, void (*)(void*), void*)>("cuLaunchHostFunc");
    for (int burst = 0; burst < kBursts; ++burst) {
      for (int step = 0; step < kSteps; ++step) {
        ASSERT_EQ(call(device.stream, meet, &ends[rank]), CUDA_SUCCESS);
        ASSERT_EQ(Launch(collective_, 100'000, device.stream), CUDA_SUCCESS);
      }
      library_->As<CUresult(CUstream)>("cuStreamSynchronize")(device.stream);
      // Other work of a rank; the next launch starts another burst.
      std::this_thread::sleep_for(std::chrono::milliseconds(15));
    }
  };
  const pid_t peer = Start([&] { run(1); });
  close(ends[1]);
  Run([&] {
    const uint64_t from = fake_cuda::Now();
    run(0);
    EXPECT_LT(fake_cuda::Now() - from, 7'000 * kMs);
  });
  int status = -1;
  EXPECT_EQ(waitpid(peer, &status, 0), peer);
  EXPECT_EQ(status, 0);
}

TEST_F(DevicesTest, ALaunchThatIsRefusedCostsNoneOfThem) {
  SetShares(30, 60);
  Run([&] {
    PrepareBoth();
    devices_[1].spin = nullptr;
    for (int i = 0; i < 20; ++i) EXPECT_NE(SpinOnBoth(kMs), CUDA_SUCCESS);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_GE(LeftIn(TheRegion()->accounting.times[i].bucket), kBurst - 1);
    }
  });
}

}  // namespace
}  // namespace tessera::limiter
