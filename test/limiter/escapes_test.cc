// SPDX-License-Identifier: Apache-2.0
// Ways past a limit of 1024 MiB that were open with HAMi-core, on a fake node with the built
// libvgpu.so. Without the library each of them works. An answer of the driver itself is the same
// with it.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "cuda/cuda_node.h"
#include "limiter/libvgpu.h"
#include "limiter/output.h"

namespace {

using tessera::fake_cuda::CudaNode;
using tessera::limiter::Libvgpu;
using tessera::limiter::Output;

constexpr char kFirst[] = "GPU-dbca3343-a2b9-4eec-a334-6a67dc541af0";
constexpr char kSecond[] = "GPU-c018374b-45c1-4082-aaf7-5ab675f5bb33";

std::string Directory(const std::string& file) {
  return std::filesystem::path(file).parent_path();
}

class EscapesTest : public ::testing::Test {
 protected:
  std::string Run(const std::string& way, const std::string& preload,
                  const std::string& variables) {
    return Output("env LD_PRELOAD='" + preload +
                  "' LD_LIBRARY_PATH=" + Directory(CudaNode::LibraryPath()) + ":" +
                  Directory(FAKE_NVML) + " TESSERA_FAKE_NVML=" + node_.directory() +
                  "/fake-nvml.yaml TESSERA_FAKE_CUDA=" + node_.directory() +
                  " TESSERA_FAKE_CUDA_OPTIONS=context-mib=0 CUDA_DEVICE_MEMORY_SHARED_CACHE=" +
                  node_.directory() + "/vgpu.cache " + variables + " " PROGRAMS "/limit_escapes " +
                  way + " 2>&1");
  }
  std::string Without(const std::string& way) { return Run(way, "", variables_); }
  std::string With(const std::string& way) { return Run(way, Libvgpu(), variables_); }

  CudaNode node_{"8xv100"};
  std::string variables_ = std::string("NVIDIA_VISIBLE_DEVICES=") + kFirst + "," + kSecond +
                           " CUDA_DEVICE_MEMORY_LIMIT_0=1024m CUDA_DEVICE_MEMORY_LIMIT_1=1024m"
                           " CUDA_DEVICE_SM_LIMIT=100";
};

TEST_F(EscapesTest, VirtualMemoryWhoseHandleIsReleasedIsHeld) {
  EXPECT_EQ(Without("virtual"), "40 pieces; 4000 MiB\n");
  EXPECT_EQ(With("virtual"), "10 pieces; 1000 MiB\n");
}

TEST_F(EscapesTest, ArraysAreHeld) {
  EXPECT_EQ(Without("arrays"), "10 pieces; 4000 MiB\n");
  EXPECT_EQ(With("arrays"), "2 pieces; 800 MiB\n");
}

TEST_F(EscapesTest, WhatIsTakenFromAPoolByNameIsHeldAndIsFreed) {
  EXPECT_EQ(Without("pool"), "40 pieces; 4000 MiB\n0 pieces; 0 MiB\n");
  EXPECT_EQ(With("pool"), "10 pieces; 1000 MiB\n0 pieces; 0 MiB\n");
}

TEST_F(EscapesTest, NvmlBeforeCudaAndAnotherOrderOfDevicesConfuseNobody) {
  variables_ += " CUDA_VISIBLE_DEVICES=1";
  EXPECT_EQ(Without("nvml"), "40 pieces; 4000 MiB\n");
  EXPECT_EQ(With("nvml"), "10 pieces; 1000 MiB\n");
}

TEST_F(EscapesTest, ProcessesThatEndAndBeginMoveNobodysAccounting) {
  EXPECT_EQ(Without("slots"), "40 pieces; 4000 MiB\n");
  EXPECT_EQ(With("slots"), "10 pieces; 1000 MiB\n");
}

TEST_F(EscapesTest, AProcessMayHaveTheNameOfADeadOne) {
  EXPECT_EQ(Without("name"), "9 pieces; 1800 MiB\n");
  EXPECT_EQ(With("name"), "9 pieces; 1000 MiB\n");
}

TEST_F(EscapesTest, ProcessesThatRaceToTheLimitNeverPassIt) {
  EXPECT_EQ(Without("race"), "10240 MiB at most\n");
  EXPECT_EQ(With("race"), "1024 MiB at most\n");
}

TEST_F(EscapesTest, MemoryOfADeviceMayBeFreedWhileAnotherIsCurrent) {
  EXPECT_EQ(Without("devices"), "0 0; 0 and 2 MiB\n");
  EXPECT_EQ(With("devices"), Without("devices"));
}

TEST_F(EscapesTest, EitherWayOfFreeingFreesEitherKindAndAnUnknownPointerIsTheDriversAffair) {
  EXPECT_EQ(Without("either"), "0 0 1; 0 MiB\n");
  EXPECT_EQ(With("either"), Without("either"));
}

TEST_F(EscapesTest, AThreadThatIsCancelledAtItsFirstCallHoldsNobodyUp) {
  EXPECT_EQ(Without("cancelled"), "40 pieces; 4000 MiB\n");
  EXPECT_EQ(With("cancelled"), "10 pieces; 1000 MiB\n");
}

TEST_F(EscapesTest, WithoutALimitADeviceIsAsLargeAsItIs) {
  variables_ = "";
  EXPECT_EQ(Without("total"), "17179869184\n");
  EXPECT_EQ(With("total"), Without("total"));
}

TEST_F(EscapesTest, TheSecondDeviceAloneHasTheSecondLimit) {
  variables_ += " CUDA_VISIBLE_DEVICES=1 CUDA_DEVICE_MEMORY_LIMIT_1=512m";
  EXPECT_EQ(Without("take"), "40 pieces; 4000 MiB\n");
  EXPECT_EQ(With("take"), "5 pieces; 500 MiB\n");
  EXPECT_EQ(With("total"), "536870912\n");
}

// As in a container that got its devices by numbers, or by CDI.
TEST_F(EscapesTest, ADeviceThatIsSeenFirstHasThePlaceThatItHasAmongAllOfTheContainer) {
  variables_ =
      "CUDA_DEVICE_MEMORY_LIMIT_0=1024m CUDA_DEVICE_MEMORY_LIMIT_1=512m "
      "CUDA_DEVICE_MEMORY_LIMIT_2=300m CUDA_VISIBLE_DEVICES=";
  const std::string limits = variables_;
  for (const auto& [seen, pieces] :
       {std::pair{"1", "5 pieces; 500 MiB\n"}, std::pair{"2,0", "3 pieces; 300 MiB\n"},
        std::pair{"0", "10 pieces; 1000 MiB\n"}}) {
    variables_ = limits + seen;
    EXPECT_EQ(Without("take"), "40 pieces; 4000 MiB\n");
    EXPECT_EQ(With("take"), pieces) << seen;
    std::filesystem::remove(node_.directory() + "/vgpu.cache");
  }
  // A place that one process found holds for the next ones, whichever devices they see.
  variables_ = limits + "1";
  EXPECT_EQ(With("take"), "5 pieces; 500 MiB\n");
  variables_ = limits + "0";
  EXPECT_EQ(With("take"), "10 pieces; 1000 MiB\n");
}

TEST_F(EscapesTest, TheSecondDeviceAloneHasTheSecondShare) {
  variables_ += " CUDA_VISIBLE_DEVICES=1 CUDA_DEVICE_SM_LIMIT_1=30";
  EXPECT_EQ(Without("spin"), "half or more\n");
  EXPECT_EQ(With("spin"), "less than half\n");
}

}  // namespace
