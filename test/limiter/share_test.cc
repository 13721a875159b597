// SPDX-License-Identifier: Apache-2.0
// A container's share of a simulated GPU's time. The simulation reports how long the GPU was busy.
// The assertions hold however late the machine runs a process: none gets more than its share.
// bench/limiter/share.cc measures how close to its share it gets.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <vector>

#include "limiter/share_test.h"

namespace tessera::limiter {
namespace {

TEST_F(ShareTest, ShortAndLongKernelsGetTheirShareAndNoMore) {
  for (const uint64_t ns : {20'000u, 200'000u, 5'000'000u}) {
    SCOPED_TRACE(ns);
    Run([&] { ExpectShare([&] { return Spin(ns); }, ns); });
  }
}

TEST_F(ShareTest, EveryKindOfLaunchIsOfTheShare) {
  uint64_t ns = 2 * kMs;
  void* parameters[] = {&ns};
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  CUDA_LAUNCH_PARAMS launches[1] = {};
  const std::function<CUresult()> kinds[] = {
      [&] {
        launches[0] = {spin_, 1, 1, 1, 1, 1, 1, 0, NewStreamOnce(), parameters};
        return cuLaunchCooperativeKernelMultiDevice(launches, 1, 0);
      },
      [&] { return cuLaunchKernel_ptsz(spin_, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr); },
      [&] { return cuLaunchKernelEx(&config, spin_, parameters, nullptr); },
      [&] { return cuLaunchKernelEx_ptsz(&config, spin_, parameters, nullptr); },
      [&] { return cuLaunchCooperativeKernel(spin_, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters); },
      [&] {
        return cuLaunchCooperativeKernel_ptsz(spin_, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters);
      },
  };
  for (const auto& kind : kinds) {
    SCOPED_TRACE(&kind - kinds);
    Run([&] { ExpectShare(kind, ns); });
  }
}

TEST_F(ShareTest, LaunchesOfCuda2AreOfTheShare) {
  Run([&] {
    uint64_t ns = 2 * kMs;
    using Set = CUresult(CUfunction, int, void*, unsigned);
    ASSERT_EQ(library_->As<Set>("cuParamSetv")(spin_, 0, &ns, sizeof ns), CUDA_SUCCESS);
    int turn = 0;
    ExpectShare(
        [&] {
          ++turn;
          if (turn % 3 == 0) return cuLaunch(spin_);
          return turn % 3 == 1 ? cuLaunchGrid(spin_, 2, 1)
                               : cuLaunchGridAsync(spin_, 3, 1, nullptr);
        },
        3 * ns);
  });
}

TEST_F(ShareTest, AGraphCostsWhatAllThatIsInItTakes) {
  Run([&] {
    const CUstream stream = NewStream();
    BeginCapture(stream);
    for (int i = 0; i < 4; ++i) ASSERT_EQ(Spin(kMs, stream), CUDA_SUCCESS);
    const CUgraph graph = EndCapture(stream);
    CUgraphExec exec = nullptr;
    const auto instantiate =
        library_->As<decltype(cuGraphInstantiateWithFlags)>("cuGraphInstantiateWithFlags");
    ASSERT_EQ(instantiate(&exec, graph, 0), CUDA_SUCCESS);
    ExpectShare([&] { return cuGraphLaunch(exec, stream); }, 4 * kMs);
    EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  });
}

TEST_F(ShareTest, WhatIsCapturedCostsNothingAndIsNotHeldUp) {
  Run([&] {
    const CUstream stream = NewStream();
    BeginCapture(stream);
    for (int i = 0; i < 1'000; ++i) ASSERT_EQ(Spin(kMs, stream), CUDA_SUCCESS);
    EXPECT_NE(EndCapture(stream), nullptr);
    EXPECT_TRUE(IsUntouched());
  });
}

TEST_F(ShareTest, LaunchesOfAnotherThreadBreakNoCapture) {
  Run([&] {
    const CUstream captured = NewStream(), other = NewStream();
    BeginCapture(captured);
    ASSERT_EQ(Spin(kMs, captured), CUDA_SUCCESS);
    std::thread thread([&] {
      EXPECT_EQ(library_->As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(context_), CUDA_SUCCESS);
      for (int i = 0; i < 20; ++i) EXPECT_EQ(Spin(2 * kMs, other), CUDA_SUCCESS);
    });
    thread.join();
    EXPECT_NE(EndCapture(captured), nullptr);
    EXPECT_FALSE(IsUntouched());
  });
}

TEST_F(ShareTest, ACollectiveThatHasBegunIsNotHeldUpInItsMidst) {
  Run([&] {
    ASSERT_EQ(Launch(collective_, kMs), CUDA_SUCCESS);
    // The debt is 3 s of waiting, and each launch on its own would wait for it.
    Correct(&TheRegion()->accounting.times[0], fake_cuda::Now(), 30, 900 * kMs);
    const uint64_t from = fake_cuda::Now();
    for (int i = 0; i < 50; ++i) ASSERT_EQ(Launch(collective_, kMs), CUDA_SUCCESS);
    EXPECT_LT(fake_cuda::Now() - from, 2'000 * kMs);
    EXPECT_LT(LeftIn(TheRegion()->accounting.times[0].bucket), -100 * static_cast<int64_t>(kMs))
        << "it is owed";
  });
}

TEST_F(ShareTest, WhatIsOnlyCalledLikeACollectiveGetsItsShareInTheEnd) {
  Run([&] {
    Correct(&TheRegion()->accounting.times[0], fake_cuda::Now(), 30,
            static_cast<int64_t>(1'000 * kMs) + kBurst);
    ExpectShare([&] { return Launch(collective_, 2 * kMs); }, 2 * kMs, 0);
  });
}

TEST_F(ShareTest, ProcessesOfAContainerHaveOneShare) {
  const auto launch = [&] {
    for (;;) Spin(2 * kMs);
  };
  const std::vector<pid_t> others = {Start(launch), Start(launch)};
  Run([&] { ExpectShare([&] { return Spin(2 * kMs); }, 3 * 2 * kMs); });
  for (const pid_t pid : others) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

// Each process is killed a millisecond later than the one before, so that kills fall into every
// part of a launch.
TEST_F(ShareTest, AKilledProcessHoldsNobodyUp) {
  for (int i = 0; i < 30; ++i) {
    const pid_t pid = Start([&] {
      for (;;) Spin(50'000);
    });
    const timespec while_it_runs{0, (i + 1) * 1'000'000};
    nanosleep(&while_it_runs, nullptr);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  Run([&] { ExpectShare([&] { return Spin(50'000); }, kMs); });
}

TEST_F(ShareTest, AContextThatEndsTakesItsMeasuresAlong) {
  Run([&] {
    for (int i = 0; i < 5; ++i) {
      for (int n = 0; n < 3; ++n) ASSERT_EQ(Spin(2 * kMs), CUDA_SUCCESS);
      ASSERT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
      ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
      ASSERT_EQ(library_->As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(context_), CUDA_SUCCESS);
      Load(*library_);
    }
  });
}

TEST_F(ShareTest, TheMonitorsSwitchLiftsALimitUnlessThePolicyForcesIt) {
  limits_.core_policy = CorePolicy::kDefault;
  Run([&] {
    TheRegion()->hami.utilization_switch = 0;
    for (int i = 0; i < 20; ++i) ASSERT_EQ(Spin(2 * kMs), CUDA_SUCCESS);
    EXPECT_TRUE(IsUntouched());
    TheRegion()->hami.utilization_switch = 1;
    ASSERT_EQ(Spin(2 * kMs), CUDA_SUCCESS);
    EXPECT_FALSE(IsUntouched());
  });
  limits_.core_policy = CorePolicy::kForce;
  Run([&] {
    TheRegion()->hami.utilization_switch = 0;
    ExpectShare([&] { return Spin(2 * kMs); }, 2 * kMs);
  });
}

TEST_F(ShareTest, WithThePolicyDisableNothingIsLimitedNorBlocked) {
  limits_.core_policy = CorePolicy::kDisable;
  Run([&] {
    TheRegion()->hami.recent_kernel = -1;
    for (int i = 0; i < 20; ++i) ASSERT_EQ(Spin(2 * kMs), CUDA_SUCCESS);
    EXPECT_TRUE(IsUntouched());
    EXPECT_EQ(TheRegion()->hami.recent_kernel, -1);
  });
}

TEST_F(ShareTest, TheMonitorIsToldOfLaunchesThatAreNotLimited) {
  limits_.devices[0].cores = 0;
  Run([&] {
    TheRegion()->hami.recent_kernel = 0;
    const int64_t before = time(nullptr);
    ASSERT_EQ(Spin(2 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(TheRegion()->hami.recent_kernel, 2);
    EXPECT_GE(TheRegion()->hami.last_kernel_time, before - 1);
    EXPECT_TRUE(IsUntouched());
  });
}

TEST_F(ShareTest, TheMonitorIsShownWhatAProcessUses) {
  Run([&] {
    uint64_t* const shown = &TheRegion()->hami.slots[OwnSlot()].utilization[0].sm;
    const uint64_t from = fake_cuda::Now();
    while (*shown == 0 && fake_cuda::Now() - from < 20'000 * kMs) {
      ASSERT_EQ(Spin(2 * kMs), CUDA_SUCCESS);
    }
    EXPECT_GE(*shown, 1u);
    EXPECT_LE(*shown, 35u);
  });
}

// The GPU is idle half of the time. The shown use covers at least a second.
TEST_F(ShareTest, TheMonitorIsShownWhatAProcessUsesThatIsNotLimited) {
  limits_.devices[0].cores = 0;
  for (const uint64_t ns : {200'000u, 20'000'000u}) {
    SCOPED_TRACE(ns);
    Run([&] {
      const uint64_t* const shown = &TheRegion()->hami.slots[OwnSlot()].utilization[0].sm;
      const uint64_t from = fake_cuda::Now(), before = Busy();
      const auto synchronize = library_->As<CUresult()>("cuCtxSynchronize");
      while (*shown == 0 && fake_cuda::Now() - from < 20'000 * kMs) {
        for (int i = 0; i < 5; ++i) ASSERT_EQ(Spin(ns), CUDA_SUCCESS);
        synchronize();
        const timespec idle{0, static_cast<long>(5 * ns)};
        nanosleep(&idle, nullptr);
      }
      const uint64_t true_percent = (Busy() - before) * 100 / (fake_cuda::Now() - from);
      EXPECT_GE(*shown, true_percent / 4);
      EXPECT_LE(*shown, true_percent * 3);
      EXPECT_TRUE(IsUntouched()) << "it is only shown";
    });
  }
}

TEST_F(ShareTest, AContextThatEndsTakesAlongWhatWasOnlyLookedAt) {
  limits_.devices[0].cores = 0;
  Run([&] {
    for (int i = 0; i < 5; ++i) {
      const uint64_t from = fake_cuda::Now();
      while (fake_cuda::Now() - from < 40 * kMs) ASSERT_EQ(Spin(2 * kMs), CUDA_SUCCESS);
      ASSERT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
      ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
      ASSERT_EQ(library_->As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(context_), CUDA_SUCCESS);
      Load(*library_);
    }
  });
}

TEST_F(ShareTest, WhileANeighboursKernelIsCalibratedNothingIsLaunched) {
  for (const uint32_t cores : {30, 0}) {
    SCOPED_TRACE(cores);
    limits_.devices[0].cores = cores;
    Run([&] {
      uint64_t* const held_until = &TheRegion()->accounting.calibrations[0].held_until;
      const uint64_t until = fake_cuda::Now() + 200 * kMs;
      __atomic_store_n(held_until, until, __ATOMIC_RELAXED);
      // Without a limit of time, one launch in 1/60 s looks at held_until.
      const uint64_t from = Busy();
      while (fake_cuda::Now() < until) ASSERT_EQ(Spin(kMs), CUDA_SUCCESS);
      EXPECT_LE(Busy() - from, 25 * kMs);
    });
  }
}

TEST_F(ShareTest, ALaunchOfAKernelThatIsToBeCalibratedTakesItsMoment) {
  Run([&] {
    CalibrationAccounting* const accounting = &TheRegion()->accounting.calibrations[0];
    TimeAccounting* const times = &TheRegion()->accounting.times[0];
    const auto synchronize = library_->As<CUresult()>("cuCtxSynchronize");
    const auto launch = [&] {
      times->others += 1'000 * kMs;
      times->others_at = fake_cuda::Now();
      ASSERT_EQ(Spin(15 * kMs), CUDA_SUCCESS);
      synchronize();
    };
    for (int i = 0; i < 20 && accounting->wanted_at == 0; ++i) launch();
    EXPECT_GE(accounting->wanted_ns, 15 * kMs);
    EXPECT_LE(accounting->wanted_ns, 150 * kMs);  // on a busy machine a kernel ends late
    EXPECT_EQ(accounting->done_at, 0u);
    const uint64_t from = fake_cuda::Now();
    const uint64_t moment[2] = {from, from + 400 * kMs};
    accounting->held_from = moment[0];
    accounting->held_until = moment[1];
    accounting->alone_until = moment[1];
    __atomic_store_n(&accounting->alone_from, moment[0], __ATOMIC_RELEASE);
    while (accounting->done_at == 0 && fake_cuda::Now() < moment[1]) launch();
    EXPECT_EQ(accounting->taken, moment[0]);
    EXPECT_GE(accounting->done_at, moment[0] + 10 * kMs);
  });
}

TEST_F(ShareTest, AKernelThatTheDriverRefusesCostsNothing) {
  Run([&] {
    void* parameters[] = {nullptr};
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(cuLaunchKernel(spin_, 1, 1, 1, 2048, 1, 1, 0, nullptr, parameters, nullptr),
                CUDA_ERROR_INVALID_VALUE);
    }
    EXPECT_GE(LeftIn(TheRegion()->accounting.times[0].bucket), kBurst - 1);
  });
}

}  // namespace
}  // namespace tessera::limiter
