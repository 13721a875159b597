// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/fraction/vgpu_trouble.h"

#include <gtest/gtest.h>

namespace tessera::nvidia {
namespace {

using Mode = NvidiaConfig::Vgpu::Mode;

Device GpuWith(int64_t memory) {
  Device device;
  device.key = {"nvidia.com/gpu", "GPU-1"};
  device.memory = memory;
  return device;
}

NvidiaConfig InSizes(std::vector<NvidiaConfig::Vgpu::Size> sizes = {}) {
  return {.vgpu = {.on = true, .sizes = std::move(sizes)}};
}

TEST(VgpuTroubleTest, OfAGpuWithMemoryIsNone) {
  EXPECT_EQ(VgpuTrouble(InSizes(), GpuWith(81'920)), std::nullopt);
}

TEST(VgpuTroubleTest, OfAnotherPolicyIsNone) {
  EXPECT_EQ(VgpuTrouble({}, GpuWith(0)), std::nullopt);
}

TEST(VgpuTroubleTest, EqualPartsOfUnknownMemoryNameTheKeysThatMendIt) {
  EXPECT_EQ(VgpuTrouble(InSizes(), GpuWith(0)),
            (Error{Reason::kUnreadable,
                   "the driver does not report its memory: set 'nvidia: "
                   "{memoryIfUntold: ...}', or 'nvidia: {vgpu: {sizes: ...}}'"}));
}

TEST(VgpuTroubleTest, WhatPodsAskForOfUnknownMemoryNamesTheKeyThatMendsIt) {
  NvidiaConfig config = InSizes();
  config.vgpu.mode = Mode::kRequested;

  EXPECT_EQ(VgpuTrouble(config, GpuWith(0)),
            (Error{Reason::kUnreadable,
                   "the driver does not report its memory: set 'nvidia: "
                   "{memoryIfUntold: ...}'"}));
}

TEST(VgpuTroubleTest, SizesNeedNoMemoryThatIsKnown) {
  EXPECT_EQ(VgpuTrouble(InSizes({{40'960, 50}, {40'960, 50}}), GpuWith(0)), std::nullopt);
}

TEST(VgpuTroubleTest, SizesThatAreMoreThanTheGpuHasAreTold) {
  const NvidiaConfig config = InSizes({{40'960, 50}, {40'960, 50}});

  EXPECT_EQ(VgpuTrouble(config, GpuWith(81'920)), std::nullopt);
  EXPECT_EQ(VgpuTrouble(config, GpuWith(81'559)),
            (Error{Reason::kInvalid,
                   "it has 81559 MiB, and 'nvidia: {vgpu: {sizes: ...}}' gives its virtual GPUs "
                   "81920 MiB: give them less"}));
}

TEST(VgpuTroubleTest, MoreThanThereIsMayBeGivenOutWhereThatIsConfigured) {
  NvidiaConfig config = InSizes({{40'960, 50}, {40'960, 50}});
  config.vgpu.memory_scaling = 2;

  EXPECT_EQ(VgpuTrouble(config, GpuWith(40'960)), std::nullopt);
  EXPECT_EQ(VgpuTrouble(config, GpuWith(40'959)),
            (Error{Reason::kInvalid,
                   "it has 81918 MiB, and 'nvidia: {vgpu: {sizes: ...}}' gives its virtual GPUs "
                   "81920 MiB: give them less"}));
}

TEST(VgpuTroubleTest, AMigDeviceIsNoWholeGpu) {
  Device mig = GpuWith(40'960);
  mig.parent = "GPU-1";

  EXPECT_EQ(VgpuTrouble(InSizes(), mig),
            (Error{Reason::kMigLayout,
                   "virtual GPUs are parts of a whole GPU, and this is a MIG device: remove "
                   "'inMigMode', or choose another policy"}));
}

}  // namespace
}  // namespace tessera::nvidia
