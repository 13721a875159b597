// SPDX-License-Identifier: Apache-2.0
// For tests that run programs with libvgpu.so on a fake node, by default with one GPU of 15 GiB.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cuda/cuda_node.h"
#include "test/limiter/libvgpu.h"
#include "test/limiter/output.h"

namespace tessera::limiter {

using fake_cuda::CudaNode;

inline constexpr char kUuid[] = "GPU-f132b5ef-756d-4db9-a729-3c7f8b96f3ce";
inline const std::string kLimit = "CUDA_DEVICE_MEMORY_LIMIT_0=1024m ";
inline constexpr char kGranted[] =
    "10 x 104857600, then 2; free 25165824 of 1073741824; device 1073741824\n";

inline std::string Directory(const std::string& file) {
  return std::filesystem::path(file).parent_path();
}

class LimitTest : public ::testing::Test {
 protected:
  explicit LimitTest(const std::string& hardware = "1xt4") : node_(hardware) {}
  // The environment that kubelet and the plugin make, before a command of sh's.
  std::string Environment(const std::string& preload = Libvgpu()) const {
    return "env LD_PRELOAD='" + preload + "' LD_LIBRARY_PATH=" + libraries_ +
           " TESSERA_FAKE_NVML=" + node_.directory() +
           "/fake-nvml.yaml TESSERA_FAKE_CUDA=" + node_.directory() +
           " TESSERA_FAKE_CUDA_OPTIONS=context-mib=0 CUDA_DEVICE_MEMORY_SHARED_CACHE=" +
           node_.directory() + "/vgpu.cache ";
  }
  // A command that takes up to `most` pieces and holds them while `meanwhile` runs.
  static std::string Program(const std::string& way, int most = 100,
                             const std::string& meanwhile = "true") {
    const std::string name = way == "open" || way == "proc" ? "limit_bare" : "limit_linked";
    return std::string(PROGRAMS) + "/" + name + " " + way + " 104857600 " + std::to_string(most) +
           " \"" + meanwhile + "\" 2>&1";
  }

  static bool MayMount() { return Output("unshare -m true 2>&1").empty(); }
  // Runs the command in a mount namespace of its own, with these limits in the file where a
  // container has them.
  std::string WithLimits(const std::string& limits, const std::string& command) const {
    const std::string file = node_.directory() + "/limits";
    std::ofstream(file) << "tessera-limits 1\n" << limits;
    return "unshare -m sh -c 'mount -t tmpfs none /run && mkdir -p /run/tessera/vgpu && cp " +
           file + " /run/tessera/vgpu/limits && exec " + command + "'";
  }

  CudaNode node_;
  std::string libraries_ = Directory(CudaNode::LibraryPath()) + ":" + Directory(FAKE_NVML);
};

}  // namespace tessera::limiter
