// SPDX-License-Identifier: Apache-2.0
// Shares of the time of several GPUs, which have nothing to do with each other.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "limiter/share_test.h"

namespace tessera::limiter {
namespace {

constexpr const char* kUuids[] = {"GPU-dbca3343-a2b9-4eec-a334-6a67dc541af0",
                                  "GPU-c018374b-45c1-4082-aaf7-5ab675f5bb33"};

class DevicesTest : public ShareTest {
 protected:
  // What is launched on one of them.
  struct Device {
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    CUfunction spin = nullptr;
  };

  DevicesTest() : ShareTest("8xv100") {
    node_.Set("CUDA_VISIBLE_DEVICES", "0,1");
    limits_.count = 2;
  }
  void SetShares(uint32_t first, uint32_t second) {
    limits_.devices[0].cores = first;
    limits_.devices[1].cores = second;
  }
  // The first one is current then.
  void PrepareBoth() {
    for (int i = 1; i >= 0; --i) {
      Device& device = devices_[static_cast<size_t>(i)];
      ASSERT_EQ(cuDevicePrimaryCtxRetain(&device.context, i), CUDA_SUCCESS);
      MakeCurrent(device);
      Load(*library_);
      device.spin = spin_;
      device.stream = NewStream();
    }
  }
  void MakeCurrent(const Device& device) {
    ASSERT_EQ(library_->As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(device.context),
              CUDA_SUCCESS);
  }
  CUresult Spin(const Device& device, uint64_t ns) {
    return Launch(device.spin, ns, device.stream);
  }
  CUresult SpinOnBoth(uint64_t ns) {
    void* parameters[] = {&ns};
    CUDA_LAUNCH_PARAMS launches[2] = {};
    for (size_t i = 0; i < 2; ++i) {
      launches[i] = {devices_[i].spin, 1, 1, 1, 1, 1, 1, 0, devices_[i].stream, parameters};
    }
    return cuLaunchCooperativeKernelMultiDevice(launches, 2, 0);
  }
  using Both = std::array<uint64_t, 2>;
  Both BusyOnBoth() {
    const auto busy = library_->As<uint64_t(const char*, pid_t)>("fakecuda_busy");
    return {busy(kUuids[0], 0), busy(kUuids[1], 0)};
  }
  // Of each, percent of the time since then, less what was saved up and a launch that runs.
  static Both SharesSince(uint64_t from, const Both& before, const Both& now, uint64_t ns) {
    Both shares{};
    for (size_t i = 0; i < 2; ++i) {
      const uint64_t busy = now[i] - before[i], besides = kSaved + 2 * ns;
      shares[i] = (busy > besides ? busy - besides : 0) * 100 / (fake_cuda::Now() - from);
    }
    return shares;
  }

  std::array<Device, 2> devices_;
};

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
    // However late the machine runs them, in the end the second one has had more than the first
    // may.
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
        EXPECT_GE(TheRegion()->books.times[i].used + 3 * ns, now[i] - before[i])
            << "it is charged for what it did";
      }
    });
  }
}

// Each kernel runs once its peer's is there, as in a collective: here their streams wait for each
// other. One of the GPUs owes 0.9 s, for which a launch of another kind would wait for 3 s.
TEST_F(DevicesTest, RanksThatWaitForEachOtherAreHeldUpForAMomentABurst) {
  constexpr int kBursts = 5, kSteps = 20;
  int ends[2];  // of either rank
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  SetShares(30, 30);
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
    TimeBooks* const books = &TheRegion()->books.times[1];
    if (rank == 1) Correct(books, fake_cuda::Now(), 30, 900 * kMs);
    const auto call = library_->As<CUresult(CUstream, void (*)(void*), void*)>("cuLaunchHostFunc");
    for (int burst = 0; burst < kBursts; ++burst) {
      for (int step = 0; step < kSteps; ++step) {
        ASSERT_EQ(call(device.stream, meet, &ends[rank]), CUDA_SUCCESS);
        ASSERT_EQ(Launch(collective_, 100'000, device.stream), CUDA_SUCCESS);
      }
      library_->As<CUresult(CUstream)>("cuStreamSynchronize")(device.stream);
      // Other work of theirs, behind which another burst begins.
      std::this_thread::sleep_for(std::chrono::milliseconds(15));
    }
  };
  const pid_t peer = Start([&] { run(1); });
  close(ends[1]);
  Run([&] {
    const uint64_t from = fake_cuda::Now();
    run(0);
    EXPECT_LT(fake_cuda::Now() - from, 2'000 * kMs);
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
      EXPECT_GE(LeftIn(TheRegion()->books.times[i].bucket), kBurst - 1);
    }
  });
}

}  // namespace
}  // namespace tessera::limiter
