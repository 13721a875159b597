// SPDX-License-Identifier: Apache-2.0
// A fixture for tests whose bodies run in processes of a fake node. Header-only; one thread.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>

#include "cuda/cuda_node.h"
#include "cuda/truth.h"

namespace tessera::fake_cuda {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kMs = 1'000'000;  // ns

// The driver, initialized, with device 0's primary context current. For one process.
class Gpu : public Library {
 public:
  explicit Gpu(const Library& cuda) : Library(cuda) {
    EXPECT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSetCurrent)(context), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuDeviceGetUuid_v2)(&uuid_, 0), CUDA_SUCCESS);
  }
  // 0 if the driver refuses; the result must be as expected.
  CUdeviceptr Allocate(uint64_t bytes, CUresult expected = CUDA_SUCCESS) const {
    const Library& cuda = *this;
    CUdeviceptr address = 0;
    EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, bytes), expected);
    return address;
  }
  CUresult Free(CUdeviceptr address) const {
    const Library& cuda = *this;
    return CALL(cuMemFree_v2)(address);
  }
  // MiB of the first card that a process holds; pid 0: all processes.
  uint64_t Resident() const { return ResidentOf(getpid()); }
  uint64_t ResidentOf(pid_t pid) const {
    const Library& cuda = *this;
    return CALL(fakecuda_resident)(Uuid().c_str(), pid) / kMiB;
  }
  // The kernel whose argument is its length in ns.
  CUfunction Spin() const {
    const Library& cuda = *this;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    const char* text = ".visible .entry spin(.param .u64 ns) { ret; }";
    EXPECT_EQ(CALL(cuModuleLoadData)(&module, text), CUDA_SUCCESS);
    auto* get = cuda.As<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction");
    EXPECT_EQ(get(&function, module, "spin"), CUDA_SUCCESS);
    return function;
  }
  CUresult Launch(CUfunction function, uint64_t ns, CUstream stream = nullptr) const {
    const Library& cuda = *this;
    void* arguments[] = {&ns};
    return CALL(cuLaunchKernel)(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr);
  }
  CUstream NewStream(unsigned flags = 1) const {
    CUstream stream = nullptr;
    EXPECT_EQ(As<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream, flags), CUDA_SUCCESS);
    return stream;
  }
  std::string Uuid() const {
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
      char digits[3];
      snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid_.bytes[i]));
      text += digits;
      if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
    }
    return text;
  }

  CUcontext context = nullptr;

 private:
  CUuuid uuid_{};
};

class CudaTest : public testing::Test {
 protected:
  explicit CudaTest(const std::string& hardware = "1xt4") : node_(hardware) {
    node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0");
  }
  void Options(const std::string& options) { node_.Set("TESSERA_FAKE_CUDA_OPTIONS", options); }
  static void End() {
    if (HasFailure()) throw std::runtime_error("as above, in a process of the node");
  }
  void InProcess(const std::function<void(const Library&)>& body) {
    EXPECT_TRUE(node_.Run([&](const Library& cuda) {
      body(cuda);
      End();
    }));
  }
  void OnGpu(const std::function<void(const Gpu&)>& body) {
    InProcess([&](const Library& cuda) { body(Gpu(cuda)); });
  }

  CudaNode node_;
};

}  // namespace tessera::fake_cuda
