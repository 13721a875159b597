// SPDX-License-Identifier: Apache-2.0
// For tests of the compute time of two GPUs in one process.
#pragma once

#include <array>

#include "limiter/share_test.h"

namespace tessera::limiter {

inline constexpr const char* kUuids[] = {"GPU-dbca3343-a2b9-4eec-a334-6a67dc541af0",
                                         "GPU-c018374b-45c1-4082-aaf7-5ab675f5bb33"};

class DevicesTest : public ShareTest {
 protected:
  // What a test needs to launch on one GPU.
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
  // Prepares both; the first GPU's context is current afterwards.
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
  // Percent of the time since `from` that each GPU was busy, less the saved-up time and launches of
  // `ns`.
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

}  // namespace tessera::limiter
