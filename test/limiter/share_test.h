// SPDX-License-Identifier: Apache-2.0
// For tests of compute time: the hooks over the fake driver, in a container with 30 percent of a
// GPU. The simulation reports how long the GPU was busy. Each body is a process of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

#include "cuda/cuda_node.h"
#include "limiter/accounting/accounting.h"
#include "limiter/limits/limits.h"
#include "limiter/time/bucket.h"
#include "limiter/time/times_under_test.h"

namespace tessera::limiter {

using fake_cuda::Library;

inline constexpr char kUuid[] = "GPU-f132b5ef-756d-4db9-a729-3c7f8b96f3ce";
inline constexpr char kModule[] =
    ".visible .entry spin(.param .u64 ns) {}\n"
    ".visible .entry ncclDevKernel_spin(.param .u64 ns) {}";
inline constexpr uint64_t kSaved = kBurst;
// A process that is held up between a launch and its kernel is charged for that as well.
inline constexpr uint64_t kHeldUp = 50 * kMs;

class ShareTest : public testing::Test {
 protected:
  explicit ShareTest(const std::string& hardware = "1xt4") : node_(hardware) {
    node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0");
    limits_.source = Source::kEnvironment;
    limits_.core_policy = CorePolicy::kForce;
    limits_.count = 1;
    limits_.devices[0].cores = 30;
    std::strcpy(limits_.region, (node_.directory() + "/x.cache").c_str());
  }

  // Runs the body in a process with a context and a kernel.
  void Run(const std::function<void()>& body) {
    EXPECT_TRUE(node_.Run([&](const Library& cuda) {
      Prepare(cuda);
      if (!HasFailure()) body();
      if (HasFailure()) throw std::runtime_error("see above");
    }));
  }
  pid_t Start(const std::function<void()>& body) {
    return node_.Start([&](const Library& cuda) {
      Prepare(cuda);
      body();
    });
  }
  void Prepare(const Library& cuda) {
    library_ = &cuda;
    ASSERT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    // Joins first: the hook counts the context, and would otherwise look for its limits elsewhere.
    ASSERT_TRUE(JoinWith(limits_)) << Meaning(WhyAlone());
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuCtxSetCurrent)(context_), CUDA_SUCCESS);
    Load(cuda);
  }
  void Load(const Library& cuda) {
    CUmodule module = nullptr;
    ASSERT_EQ(CALL(cuModuleLoadData)(&module, kModule), CUDA_SUCCESS);
    const auto get = cuda.As<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction");
    ASSERT_EQ(get(&spin_, module, "spin"), CUDA_SUCCESS);
    ASSERT_EQ(get(&collective_, module, "ncclDevKernel_spin"), CUDA_SUCCESS);
  }

  CUresult Spin(uint64_t ns, CUstream stream = nullptr) { return Launch(spin_, ns, stream); }
  static CUresult Launch(CUfunction function, uint64_t ns, CUstream stream = nullptr) {
    void* parameters[] = {&ns};
    return cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr);
  }
  // Launches for `while_ns`. The GPU is busy for at least `least`. It is busy for no more than the
  // share of that time, the saved-up time and launches of `ns`.
  void ExpectShare(const std::function<CUresult()>& launch, uint64_t ns, uint64_t least = kSaved,
                   uint64_t while_ns = 300 * kMs) {
    const uint64_t from = fake_cuda::Now(), before = Busy();
    while (fake_cuda::Now() - from < while_ns) ASSERT_EQ(launch(), CUDA_SUCCESS);
    const uint64_t busy = Busy() - before;
    EXPECT_LE(busy, kSaved + (fake_cuda::Now() - from) * 32 / 100 + 2 * ns);
    EXPECT_GE(busy, least) << "it ran at all";
  }
  uint64_t Busy() { return library_->As<uint64_t(const char*, pid_t)>("fakecuda_busy")(uuid_, 0); }
  // Nothing was ever taken from the share.
  static bool IsUntouched() { return TheRegion()->accounting.times[0].bucket.high == 0; }
  // Says as the agent does that the container has the GPU for itself. The first report is 1.5 s
  // old.
  static void SayAlone() {
    TimeAccounting* const accounting = &TheRegion()->accounting.times[0];
    accounting->others = 1;
    accounting->others_at = fake_cuda::Now() - (accounting->others_at == 0 ? 1'500 * kMs : 0);
  }
  CUstream NewStream() {
    CUstream stream = nullptr;
    EXPECT_EQ(library_->As<decltype(cuStreamCreate)>("cuStreamCreate")(&stream, 1), CUDA_SUCCESS);
    return stream;
  }
  CUstream NewStreamOnce() { return stream_ = stream_ == nullptr ? NewStream() : stream_; }
  void BeginCapture(CUstream stream) {
    using Begin = CUresult(CUstream, CUstreamCaptureMode);
    ASSERT_EQ(library_->As<Begin>("cuStreamBeginCapture_v2")(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_SUCCESS);
  }
  CUgraph EndCapture(CUstream stream) {
    CUgraph graph = nullptr;
    using End = CUresult(CUstream, CUgraph*);
    EXPECT_EQ(library_->As<End>("cuStreamEndCapture")(stream, &graph), CUDA_SUCCESS);
    return graph;
  }

  fake_cuda::CudaNode node_;
  const char* uuid_ = kUuid;  // of the container's device
  Limits limits_;
  const Library* library_ = nullptr;
  CUcontext context_ = nullptr;
  CUfunction spin_ = nullptr;
  CUfunction collective_ = nullptr;
  CUstream stream_ = nullptr;
};

}  // namespace tessera::limiter
