// SPDX-License-Identifier: Apache-2.0
// The built libvgpu.so in programs on a fake node with one GPU of 15 GiB: the limit holds whichever
// way a program finds the driver's functions, and it is what the program is told.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "cuda/cuda_node.h"

namespace {

using tessera::fake_cuda::CudaNode;

constexpr char kUuid[] = "GPU-f132b5ef-756d-4db9-a729-3c7f8b96f3ce";
const std::string kLimit = "CUDA_DEVICE_MEMORY_LIMIT_0=1024m ";
constexpr char kGranted[] =
    "10 x 104857600, then 2; free 25165824 of 1073741824; device 1073741824\n";

std::string Output(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 256> part{};
  while (fgets(part.data(), part.size(), pipe) != nullptr) output += part.data();
  const int status = pclose(pipe);
  return status == 0 ? output : output + " (status " + std::to_string(status) + ")";
}

std::string Directory(const std::string& file) {
  return std::filesystem::path(file).parent_path();
}

class LimitTest : public ::testing::Test {
 protected:
  // The environment that kubelet and the plugin make, for a command of sh's.
  std::string Environment(const std::string& preload = LIBVGPU) const {
    return "env LD_PRELOAD='" + preload + "' LD_LIBRARY_PATH=" + libraries_ +
           " TESSERA_FAKE_NVML=" + node_.directory() +
           "/fake-nvml.yaml TESSERA_FAKE_CUDA=" + node_.directory() +
           " TESSERA_FAKE_CUDA_OPTIONS=context-mib=0 CUDA_DEVICE_MEMORY_SHARED_CACHE=" +
           node_.directory() + "/vgpu.cache ";
  }
  // Takes as many pieces as it gets; holds them while `meanwhile` runs.
  static std::string Program(const std::string& way, int most = 100,
                             const std::string& meanwhile = "true") {
    const std::string name = way == "open" || way == "proc" ? "limit_bare" : "limit_linked";
    return std::string(PROGRAMS) + "/" + name + " " + way + " 104857600 " + std::to_string(most) +
           " \"" + meanwhile + "\" 2>&1";
  }

  CudaNode node_;
  std::string libraries_ = Directory(CudaNode::LibraryPath()) + ":" + Directory(FAKE_NVML);
};

class WayTest : public LimitTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(WayTest, TheLimitHoldsAndIsTold) {
  EXPECT_EQ(Output(Environment() + kLimit + Program(GetParam())), kGranted);
}

INSTANTIATE_TEST_SUITE_P(EveryWay, WayTest,
                         ::testing::Values("linked", "default", "next", "self", "open", "proc"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(LimitTest, WithoutTheLimiterThereIsTheWholeDevice) {
  EXPECT_EQ(Output(Environment("") + kLimit + Program("linked")),
            "100 x 104857600, then 0; free 5620367360 of 16106127360; device 16106127360\n");
}

TEST_F(LimitTest, WithoutALimitThereIsTheWholeDevice) {
  EXPECT_EQ(Output(Environment() + Program("proc")),
            "100 x 104857600, then 0; free 5620367360 of 16106127360; device 16106127360\n");
}

TEST_F(LimitTest, TheProcessesOfAContainerShareTheLimit) {
  const std::string second = std::string(PROGRAMS) + "/limit_linked linked 104857600 9 true";
  // What the first one says of itself comes later.
  EXPECT_EQ(Output(Environment() + kLimit + Program("proc", 6, second) + " | head -n 1"),
            "4 x 104857600, then 2; free 25165824 of 1073741824; device 1073741824\n");
}

TEST_F(LimitTest, WhatAProcessHeldIsThereForTheNext) {
  const std::string command = Environment() + kLimit + Program("open") + "; ";
  EXPECT_EQ(Output(command + command), std::string(kGranted) + kGranted);
}

TEST_F(LimitTest, NvmlTellsTheSameAsCuda) {
  const std::string nvml = std::string(PROGRAMS) + "/limit_nvml";
  const std::string whole =
      "used 0, free 16106127360 of 16106127360; "
      "used 0, free 15602810880, reserved 503316480 of 16106127360\n";
  EXPECT_EQ(Output(Environment("") + nvml), whole);
  EXPECT_EQ(Output(Environment() + nvml), whole) << "without a limit";
  EXPECT_EQ(Output(Environment() + kLimit + nvml),
            "used 0, free 1073741824 of 1073741824; "
            "used 0, free 1073741824, reserved 0 of 1073741824\n");
  // While another process holds some.
  EXPECT_EQ(Output(Environment() + kLimit + Program("proc", 6, nvml) + " | head -n 1"),
            "used 629145600, free 444596224 of 1073741824; "
            "used 629145600, free 444596224, reserved 0 of 1073741824\n");
}

// What the driver says of a process that is somebody else's: host, or another container.
const std::string kForeign = "TESSERA_FAKE_NVML_PROCESSES='4194305:1024' ";
const std::string kProcesses = std::string(PROGRAMS) + "/limit_processes";

TEST_F(LimitTest, NvmlListsTheContainersOwnProcessesAlone) {
  EXPECT_EQ(Output(Environment() + kForeign + kLimit + Program("proc", 6, kProcesses) +
                   " | grep -v after"),
            R"(ComputeRunningProcesses: 0 limit_bare=629145600
ComputeRunningProcesses_v2: 0 limit_bare=629145600
ComputeRunningProcesses_v3: 0 limit_bare=629145600
GraphicsRunningProcesses: 0
GraphicsRunningProcesses_v2: 0
GraphicsRunningProcesses_v3: 0
MPSComputeRunningProcesses: 0
MPSComputeRunningProcesses_v2: 0
MPSComputeRunningProcesses_v3: 0
details 0: 0 limit_bare=629145600
details 1: 0
details 2: 0
utilization: 0 limit_bare=0%
all utilization: 0 limit_bare=0%
6 x 104857600, then 0; free 444596224 of 1073741824; device 1073741824
)");
}

TEST_F(LimitTest, WithoutALimitNvmlListsWhatTheDriverKnows) {
  const std::string driver = R"(ComputeRunningProcesses: 0 4194305=1024
ComputeRunningProcesses_v2: 0 4194305=1024
ComputeRunningProcesses_v3: 0 4194305=1024
GraphicsRunningProcesses: 0
GraphicsRunningProcesses_v2: 0
GraphicsRunningProcesses_v3: 0
MPSComputeRunningProcesses: 0
MPSComputeRunningProcesses_v2: 0
MPSComputeRunningProcesses_v3: 0
details 0: 0 4194305=1024
details 1: 0
details 2: 0
utilization: 0 4194305=42%
all utilization: 0 4194305=42%
after the end: 1
)";
  EXPECT_EQ(Output(Environment("") + kForeign + kLimit + kProcesses), driver) << "no limiter";
  EXPECT_EQ(Output(Environment() + kForeign + kProcesses), driver);
}

TEST_F(LimitTest, ListsOfProcessesAreAnsweredAsTheDriverWould) {
  EXPECT_EQ(Output(Environment() + kForeign + kLimit + Program("proc", 6, kProcesses + " edges") +
                   " | grep -v free"),
            R"(no room: 7, 1 needed
nowhere to write: 2
no count: 2
a newer list: 25
no room for samples: 7, 1 needed
samples of the future: 6, 0
after the end: 1
)");
}

TEST_F(LimitTest, AProcessThatHoldsNothingIsOnNoList) {
  EXPECT_EQ(Output(Environment() + kForeign + kLimit + kProcesses + " edges"),
            R"(no room: 0, 0 needed
nowhere to write: 0
no count: 2
a newer list: 25
no room for samples: 6, 0 needed
samples of the future: 6, 0
after the end: 1
)");
}

// In a mount namespace of its own, where the file is that the container would have.
TEST_F(LimitTest, TheLimitsFileIsStrongerThanTheEnvironment) {
  if (Output("unshare -m true 2>&1") != "") GTEST_SKIP() << "may not make a mount namespace";
  const std::string file = node_.directory() + "/limits";
  std::ofstream(file) << "tessera-limits 1\ndevice " << kUuid << " memory=1073741824\n";
  const std::string command = "mount -t tmpfs none /run && mkdir -p /run/tessera/vgpu && cp " +
                              file + " /run/tessera/vgpu/limits && exec " + Environment() +
                              " CUDA_DEVICE_MEMORY_LIMIT_0=8g " + Program("open");
  EXPECT_EQ(Output("unshare -m sh -c '" + command + "'"), kGranted);
}

}  // namespace
