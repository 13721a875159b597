// SPDX-License-Identifier: Apache-2.0
// For tests of memory. They call the hooks as a program's calls reach them, over the fake driver.
// Each body is a process of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "cuda/cuda_node.h"
#include "limiter/accounting/accounting.h"
#include "limiter/limits/limits.h"

namespace tessera::limiter {

inline constexpr uint64_t kMiB = 1 << 20;
inline constexpr char kUuid[] = "GPU-f132b5ef-756d-4db9-a729-3c7f8b96f3ce";

class MemoryTest : public testing::Test {
 protected:
  explicit MemoryTest(const std::string& hardware = "1xt4") : node_(hardware) {
    node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0");
    limits_.source = Source::kEnvironment;
    limits_.count = 1;
    limits_.devices[0].bytes = 1024 * kMiB;
    std::strcpy(limits_.region, (node_.directory() + "/x.cache").c_str());
  }

  // Runs the body in a process with a context.
  template <typename Body>
  void Run(Body body) {
    EXPECT_TRUE(node_.Run([&](const fake_cuda::Library& cuda) {
      library_ = &cuda;
      Prepare(cuda);
      if (!HasFailure()) body();
      if (HasFailure()) throw std::runtime_error("see above");
    }));
  }
  void Prepare(const fake_cuda::Library& cuda) {
    ASSERT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(CALL(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuCtxSetCurrent)(context), CUDA_SUCCESS);
    ASSERT_EQ(JoinWith(limits_), has_accounting_) << Meaning(WhyAlone());
  }

  // Keeps a stream busy for that long.
  static void Spin(CUstream stream, uint64_t ns) {
    CUmodule module = nullptr;
    CUfunction spin = nullptr;
    const char* text = ".visible .entry spin(.param .u64 ns) { ret; }";
    ASSERT_EQ(cuModuleLoadData(&module, text), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&spin, module, "spin"), CUDA_SUCCESS);
    void* arguments[] = {&ns};
    ASSERT_EQ(cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr), CUDA_SUCCESS);
  }

  CUstream NewStream() {
    CUstream stream = nullptr;
    EXPECT_EQ(cuda().As<decltype(cuStreamCreate)>("cuStreamCreate")(&stream, 1), CUDA_SUCCESS);
    return stream;
  }
  CUmemoryPool NewPool() {
    CUmemPoolProps wanted{};
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(cuda().As<decltype(cuMemPoolCreate)>("cuMemPoolCreate")(&pool, &wanted),
              CUDA_SUCCESS);
    return pool;
  }
  // The properties that cuMemCreate takes.
  static CUmemAllocationProp PinnedIn(CUmemLocationType where) {
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {where, 0};
    return wanted;
  }
  // Reserves addresses that nothing is mapped to.
  CUdeviceptr Addresses(uint64_t bytes) {
    using Reserve = CUresult(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long);
    CUdeviceptr address = 0;
    EXPECT_EQ(cuda().As<Reserve>("cuMemAddressReserve")(&address, bytes, 0, 0, 0), CUDA_SUCCESS);
    return address;
  }

  const fake_cuda::Library& cuda() const { return *library_; }
  uint64_t Resident() {
    return library_->As<uint64_t(const char*, pid_t)>("fakecuda_resident")(kUuid, 0);
  }
  // The counted memory is what the device gave, and that is `mib`.
  void ExpectTrue(uint64_t mib) {
    EXPECT_EQ(Used(0), mib * kMiB);
    EXPECT_EQ(Resident(), mib * kMiB);
  }

  fake_cuda::CudaNode node_;
  Limits limits_;
  bool has_accounting_ = true;  // whether Run() is expected to join
  const fake_cuda::Library* library_ = nullptr;
};

}  // namespace tessera::limiter
