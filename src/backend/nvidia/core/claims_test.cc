// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/claims.h"

#include <gtest/gtest.h>

namespace tessera::nvidia {
namespace {

using Selector = NvidiaConfig::Selector;
using InMigMode = NvidiaConfig::InMigMode;

constexpr char kClaimed[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";
const ClaimedPart kWhole{.whole = true, .devices = {}};

Gpu UndividedA100() {
  return {.index = 3, .uuid = kClaimed, .model = "NVIDIA UndividedA100-SXM4-80GB", .numa = 1};
}

// A GPU in MIG mode, with devices of these profiles.
Gpu DividedGpu(const std::vector<std::string>& profiles) {
  Gpu gpu = UndividedA100();
  gpu.mig.enabled = true;
  for (const std::string& profile : profiles) {
    nvml::DeviceAttributes attributes{};
    attributes.memory_mib = std::hash<std::string>()(profile);
    gpu.mig.devices.push_back({.profile = profile, .attributes = attributes});
  }
  return gpu;
}

bool Has(const std::vector<Selector>& select) {
  const ClaimedPart part = ClaimedPartOf({.select = select}, UndividedA100());
  return part.whole;
}

TEST(Claims, EveryGpuIsTheResourcesUnlessItSaysWhich) {
  EXPECT_TRUE(Has({}));
  EXPECT_TRUE(Has({{.index = "3"}}));
  EXPECT_TRUE(Has({{.uuid = kClaimed}}));
  EXPECT_TRUE(Has({{.model = "*UndividedA100*"}}));
  EXPECT_TRUE(Has({{.numa = "1"}}));
  EXPECT_TRUE(Has({{.index = "1"}, {.index = "3", .model = "NVIDIA UndividedA100-SXM4-80GB"}}));

  EXPECT_FALSE(Has({{.index = "1"}}));
  EXPECT_FALSE(Has({{.uuid = "GPU-8a1f1d3c"}}));
  EXPECT_FALSE(Has({{.model = "A100"}}));
  EXPECT_FALSE(Has({{.numa = "0"}}));
  EXPECT_FALSE(Has({{.index = "3", .model = "*H100*"}}));
}

TEST(Claims, WhatAResourceExcludesIsALaterOnes) {
  EXPECT_EQ(ClaimedPartOf({.exclude = {{.index = "3"}}}, UndividedA100()), ClaimedPart());
  EXPECT_EQ(ClaimedPartOf({.select = {{.index = "3"}}, .exclude = {{.model = "*UndividedA100*"}}},
                          UndividedA100()),
            ClaimedPart());
  EXPECT_EQ(ClaimedPartOf({.exclude = {{.index = "2"}, {.numa = "0"}}}, UndividedA100()), kWhole);
  EXPECT_EQ(ClaimedPartOf({.earlier = {{.exclude = {{.index = "3"}}}}}, UndividedA100()), kWhole);
  EXPECT_EQ(ClaimedPartOf({.earlier = {{.exclude = {{.index = "2"}}}}}, UndividedA100()),
            ClaimedPart());
}

TEST(Claims, TheDisplayOfADgxStationIsNobodys) {
  EXPECT_EQ(ClaimedPartOf({}, {.model = "DGX Display"}), ClaimedPart());
}

TEST(Claims, AGpuThatSeveralResourcesFitIsTheFirstOnes) {
  EXPECT_EQ(ClaimedPartOf({.earlier = {{.select = {{.index = "3"}}}}}, UndividedA100()),
            ClaimedPart());
  EXPECT_EQ(ClaimedPartOf({.earlier = {{.select = {{.numa = "0"}}}, {}}}, UndividedA100()),
            ClaimedPart());
  EXPECT_EQ(ClaimedPartOf({.earlier = {{.select = {{.index = "2"}}}}}, UndividedA100()), kWhole);
  EXPECT_EQ(ClaimedPartOf({.earlier = {{.mig = "*"}}}, UndividedA100()), kWhole);
}

TEST(Claims, AMigDeviceThatSeveralResourcesFitIsTheFirstOnes) {
  const Gpu gpu = DividedGpu({"1g.10gb", "2g.20gb", "1g.10gb"});
  EXPECT_EQ(ClaimedPartOf({.mig = "1g.*"}, gpu), (ClaimedPart{.devices = {0, 2}}));
  EXPECT_EQ(ClaimedPartOf({.mig = "*", .earlier = {{.mig = "1g.10gb"}}}, gpu),
            (ClaimedPart{.devices = {1}}));
  EXPECT_EQ(ClaimedPartOf({.mig = "*", .earlier = {{}}}, gpu), (ClaimedPart{.devices = {0, 1, 2}}));
  EXPECT_EQ(ClaimedPartOf({.mig = "*", .earlier = {{.select = {{.index = "3"}}, .mig = "*"}}}, gpu),
            ClaimedPart());
  EXPECT_EQ(ClaimedPartOf({.mig = "*", .earlier = {{.in_mig_mode = InMigMode::kDevices}}}, gpu),
            ClaimedPart());
}

TEST(Claims, AProfileIsNamedAsItIsOrAsItStandsInAName) {
  EXPECT_TRUE(FitsProfile("1g.10gb+me", "1g.10gb+me"));
  EXPECT_TRUE(FitsProfile("1g.10gb.me", "1g.10gb+me"));
  EXPECT_FALSE(FitsProfile("1g.10gb", "1g.10gb+me"));
}

TEST(Claims, AGpuInMigModeIsWhatItsResourceSays) {
  const Gpu gpu = DividedGpu({"1g.10gb", "1g.10gb"});
  EXPECT_EQ(ClaimedPartOf({}, gpu), ClaimedPart());
  EXPECT_EQ(ClaimedPartOf({.in_mig_mode = InMigMode::kWhole}, gpu), kWhole);
  EXPECT_EQ(ClaimedPartOf({.in_mig_mode = InMigMode::kDevices}, gpu),
            (ClaimedPart{.devices = {0, 1}}));
  EXPECT_EQ(ClaimedPartOf({.in_mig_mode = InMigMode::kDevices}, UndividedA100()), kWhole);
}

TEST(Claims, AWholeGpuInMigModeAndItsDevicesAreNotGivenAwayBoth) {
  const Gpu gpu = DividedGpu({"1g.10gb", "2g.20gb"});
  EXPECT_EQ(ClaimedPartOf({.mig = "*", .earlier = {{.in_mig_mode = InMigMode::kWhole}}}, gpu),
            ClaimedPart());
  EXPECT_EQ(ClaimedPartOf({.in_mig_mode = InMigMode::kWhole, .earlier = {{.mig = "2g.*"}}}, gpu),
            ClaimedPart());
  EXPECT_EQ(ClaimedPartOf({.in_mig_mode = InMigMode::kWhole, .earlier = {{.mig = "3g.*"}}}, gpu),
            kWhole);
}

TEST(Claims, AGpuThatNeverAnsweredMayBeAnyWholeOne) {
  EXPECT_TRUE(MayBePartOf({}, 3));
  EXPECT_TRUE(MayBePartOf({.select = {{.index = "3"}}}, 3));
  EXPECT_FALSE(MayBePartOf({.select = {{.uuid = kClaimed}}}, 3));
  EXPECT_FALSE(MayBePartOf({.mig = "*"}, 3));
  EXPECT_FALSE(MayBePartOf({.earlier = {{}}}, 3));
}

std::map<unsigned, std::string> OddOf(const std::vector<Gpu>& gpus, NvidiaConfig config = {}) {
  config.in_mig_mode = InMigMode::kDevices;
  std::map<unsigned, Gpu> by_index;
  for (const Gpu& gpu : gpus) {
    const auto index = static_cast<unsigned>(by_index.size());
    by_index[index] = gpu;
    by_index[index].index = index;
  }
  return MisdividedGpus(config, by_index);
}

using TextsByGpu = std::map<unsigned, std::string>;
constexpr char kDivideAlike[] =
    ": divide all alike, or give each profile a resource of its own (migStrategy 'mixed')";

TEST(OddGpus, ThereAreNoneWhereAllAreDividedAlike) {
  const Gpu seven = DividedGpu({"1g.10gb", "1g.10gb"});
  EXPECT_EQ(OddOf({seven, seven}), TextsByGpu());
  EXPECT_EQ(OddOf({seven, DividedGpu({"1g.10gb"})}), TextsByGpu());  // fewer, but the same
  EXPECT_EQ(OddOf({UndividedA100(), UndividedA100()}), TextsByGpu());
  EXPECT_EQ(OddOf({}), TextsByGpu());
}

TEST(OddGpus, AreThoseThatAreNotWhatMostAre) {
  const Gpu divided = DividedGpu({"1g.10gb"});
  EXPECT_EQ(
      OddOf({UndividedA100(), divided, divided}),
      (TextsByGpu{{0, std::string("GPU 0 is not in MIG mode, but GPU 1 has MIG devices 1g.10gb") +
                          kDivideAlike}}));
  EXPECT_EQ(
      OddOf({divided, UndividedA100(), UndividedA100()}),
      (TextsByGpu{{0, std::string("GPU 0 has MIG devices 1g.10gb, but GPU 1 is not in MIG mode") +
                          kDivideAlike}}));
  EXPECT_EQ(
      OddOf({divided, DividedGpu({"2g.20gb"}), divided}),
      (TextsByGpu{
          {1, std::string("GPU 1 has MIG devices 2g.20gb, but GPU 0 has MIG devices 1g.10gb") +
                  kDivideAlike}}));
}

TEST(OddGpus, OfEquallyManyTheFirstCounts) {
  EXPECT_EQ(OddOf({UndividedA100(), DividedGpu({"1g.10gb"})}).count(1), 1U);
  EXPECT_EQ(OddOf({DividedGpu({"1g.10gb"}), UndividedA100()}).count(1), 1U);
}

TEST(OddGpus, AreThoseThatFitNothing) {
  const Gpu divided = DividedGpu({"1g.10gb"});
  EXPECT_EQ(
      OddOf({DividedGpu({}), DividedGpu({"1g.10gb", "2g.20gb"}), divided}),
      (TextsByGpu{{0,
                   "GPU 0 is in MIG mode and has no MIG devices: make some with 'nvidia-smi mig', "
                   "or end its MIG mode"},
                  {1,
                   "GPU 1 has MIG devices that differ (1g.10gb, 2g.20gb): make them all alike, or "
                   "give each profile a resource of its own (migStrategy 'mixed')"}}));
  EXPECT_EQ(OddOf({DividedGpu({})}).size(), 1U);
}

TEST(OddGpus, AreNoneThatAnotherResourceHas) {
  const std::vector<Gpu> gpus = {DividedGpu({}), UndividedA100()};
  EXPECT_EQ(OddOf(gpus, {.select = {{.index = "1"}}}), TextsByGpu());
  EXPECT_EQ(OddOf({DividedGpu({"2g.20gb"}), DividedGpu({"1g.10gb"}), DividedGpu({"1g.10gb"})},
                  {.earlier = {{.mig = "2g.20gb"}}}),
            TextsByGpu());
}

TEST(OddGpus, AreAMatterOfResourcesThatAreMadeOfBoth) {
  EXPECT_EQ(MisdividedGpus({}, {{0, UndividedA100()}, {1, DividedGpu({})}}), TextsByGpu());
}

}  // namespace
}  // namespace tessera::nvidia
