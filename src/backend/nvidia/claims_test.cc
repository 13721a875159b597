// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/claims.h"

#include <gtest/gtest.h>

namespace tessera::nvidia {
namespace {

using Selector = NvidiaConfig::Selector;
using InMigMode = NvidiaConfig::InMigMode;

constexpr char kUuid[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";
const Part kWhole{.whole = true, .devices = {}};

Gpu A100() {
  return {.index = 3, .uuid = kUuid, .model = "NVIDIA A100-SXM4-80GB", .numa = 1};
}

// In MIG mode, with devices of these profiles.
Gpu Divided(const std::vector<std::string>& profiles) {
  Gpu gpu = A100();
  gpu.mig.enabled = true;
  for (const std::string& profile : profiles) {
    nvml::DeviceAttributes attributes{};
    attributes.memory_mib = std::hash<std::string>()(profile);
    gpu.mig.devices.push_back({.profile = profile, .attributes = attributes});
  }
  return gpu;
}

bool Has(const std::vector<Selector>& select) {
  const Part part = PartOf({.select = select}, A100());
  return part.whole;
}

TEST(Claims, EveryGpuIsTheResourcesUnlessItSaysWhich) {
  EXPECT_TRUE(Has({}));
  EXPECT_TRUE(Has({{.index = "3"}}));
  EXPECT_TRUE(Has({{.uuid = kUuid}}));
  EXPECT_TRUE(Has({{.model = "*A100*"}}));
  EXPECT_TRUE(Has({{.numa = "1"}}));
  EXPECT_TRUE(Has({{.index = "1"}, {.index = "3", .model = "NVIDIA A100-SXM4-80GB"}}));

  EXPECT_FALSE(Has({{.index = "1"}}));
  EXPECT_FALSE(Has({{.uuid = "GPU-8a1f1d3c"}}));
  EXPECT_FALSE(Has({{.model = "A100"}}));
  EXPECT_FALSE(Has({{.numa = "0"}}));
  EXPECT_FALSE(Has({{.index = "3", .model = "*H100*"}}));
}

TEST(Claims, WhatAResourceExcludesIsALaterOnes) {
  EXPECT_EQ(PartOf({.exclude = {{.index = "3"}}}, A100()), Part());
  EXPECT_EQ(PartOf({.select = {{.index = "3"}}, .exclude = {{.model = "*A100*"}}}, A100()), Part());
  EXPECT_EQ(PartOf({.exclude = {{.index = "2"}, {.numa = "0"}}}, A100()), kWhole);
  EXPECT_EQ(PartOf({.earlier = {{.exclude = {{.index = "3"}}}}}, A100()), kWhole);
  EXPECT_EQ(PartOf({.earlier = {{.exclude = {{.index = "2"}}}}}, A100()), Part());
}

TEST(Claims, TheDisplayOfADgxStationIsNobodys) {
  EXPECT_EQ(PartOf({}, {.model = "DGX Display"}), Part());
}

TEST(Claims, AGpuThatSeveralResourcesFitIsTheFirstOnes) {
  EXPECT_EQ(PartOf({.earlier = {{.select = {{.index = "3"}}}}}, A100()), Part());
  EXPECT_EQ(PartOf({.earlier = {{.select = {{.numa = "0"}}}, {}}}, A100()), Part());
  EXPECT_EQ(PartOf({.earlier = {{.select = {{.index = "2"}}}}}, A100()), kWhole);
  EXPECT_EQ(PartOf({.earlier = {{.mig = "*"}}}, A100()), kWhole);
}

TEST(Claims, AMigDeviceThatSeveralResourcesFitIsTheFirstOnes) {
  const Gpu gpu = Divided({"1g.10gb", "2g.20gb", "1g.10gb"});
  EXPECT_EQ(PartOf({.mig = "1g.*"}, gpu), (Part{.devices = {0, 2}}));
  EXPECT_EQ(PartOf({.mig = "*", .earlier = {{.mig = "1g.10gb"}}}, gpu), (Part{.devices = {1}}));
  EXPECT_EQ(PartOf({.mig = "*", .earlier = {{}}}, gpu), (Part{.devices = {0, 1, 2}}));
  EXPECT_EQ(PartOf({.mig = "*", .earlier = {{.select = {{.index = "3"}}, .mig = "*"}}}, gpu),
            Part());
  EXPECT_EQ(PartOf({.mig = "*", .earlier = {{.in_mig_mode = InMigMode::kDevices}}}, gpu), Part());
}

TEST(Claims, AProfileIsNamedAsItIsOrAsItStandsInAName) {
  EXPECT_TRUE(FitsProfile("1g.10gb+me", "1g.10gb+me"));
  EXPECT_TRUE(FitsProfile("1g.10gb.me", "1g.10gb+me"));
  EXPECT_FALSE(FitsProfile("1g.10gb", "1g.10gb+me"));
}

TEST(Claims, AGpuInMigModeIsWhatItsResourceSays) {
  const Gpu gpu = Divided({"1g.10gb", "1g.10gb"});
  EXPECT_EQ(PartOf({}, gpu), Part());
  EXPECT_EQ(PartOf({.in_mig_mode = InMigMode::kWhole}, gpu), kWhole);
  EXPECT_EQ(PartOf({.in_mig_mode = InMigMode::kDevices}, gpu), (Part{.devices = {0, 1}}));
  EXPECT_EQ(PartOf({.in_mig_mode = InMigMode::kDevices}, A100()), kWhole);
}

TEST(Claims, AWholeGpuInMigModeAndItsDevicesAreNotGivenAwayBoth) {
  const Gpu gpu = Divided({"1g.10gb", "2g.20gb"});
  EXPECT_EQ(PartOf({.mig = "*", .earlier = {{.in_mig_mode = InMigMode::kWhole}}}, gpu), Part());
  EXPECT_EQ(PartOf({.in_mig_mode = InMigMode::kWhole, .earlier = {{.mig = "2g.*"}}}, gpu), Part());
  EXPECT_EQ(PartOf({.in_mig_mode = InMigMode::kWhole, .earlier = {{.mig = "3g.*"}}}, gpu), kWhole);
}

TEST(Claims, AGpuThatNeverAnsweredMayBeAnyWholeOne) {
  EXPECT_TRUE(MayBePartOf({}, 3));
  EXPECT_TRUE(MayBePartOf({.select = {{.index = "3"}}}, 3));
  EXPECT_FALSE(MayBePartOf({.select = {{.uuid = kUuid}}}, 3));
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

using Texts = std::map<unsigned, std::string>;
constexpr char kDivideAlike[] =
    ": divide all alike, or give each profile a resource of its own (migStrategy 'mixed')";

TEST(OddGpus, ThereAreNoneWhereAllAreDividedAlike) {
  const Gpu seven = Divided({"1g.10gb", "1g.10gb"});
  EXPECT_EQ(OddOf({seven, seven}), Texts());
  EXPECT_EQ(OddOf({seven, Divided({"1g.10gb"})}), Texts());  // fewer, but the same
  EXPECT_EQ(OddOf({A100(), A100()}), Texts());
  EXPECT_EQ(OddOf({}), Texts());
}

TEST(OddGpus, AreThoseThatAreNotWhatMostAre) {
  const Gpu divided = Divided({"1g.10gb"});
  EXPECT_EQ(OddOf({A100(), divided, divided}),
            (Texts{{0, std::string("GPU 0 is not in MIG mode, but GPU 1 has MIG devices 1g.10gb") +
                           kDivideAlike}}));
  EXPECT_EQ(OddOf({divided, A100(), A100()}),
            (Texts{{0, std::string("GPU 0 has MIG devices 1g.10gb, but GPU 1 is not in MIG mode") +
                           kDivideAlike}}));
  EXPECT_EQ(
      OddOf({divided, Divided({"2g.20gb"}), divided}),
      (Texts{{1, std::string("GPU 1 has MIG devices 2g.20gb, but GPU 0 has MIG devices 1g.10gb") +
                     kDivideAlike}}));
}

TEST(OddGpus, OfEquallyManyTheFirstCounts) {
  EXPECT_EQ(OddOf({A100(), Divided({"1g.10gb"})}).count(1), 1U);
  EXPECT_EQ(OddOf({Divided({"1g.10gb"}), A100()}).count(1), 1U);
}

TEST(OddGpus, AreThoseThatFitNothing) {
  const Gpu divided = Divided({"1g.10gb"});
  EXPECT_EQ(OddOf({Divided({}), Divided({"1g.10gb", "2g.20gb"}), divided}),
            (Texts{{0,
                    "GPU 0 is in MIG mode and has no MIG devices: make some with 'nvidia-smi mig', "
                    "or end its MIG mode"},
                   {1,
                    "GPU 1 has MIG devices that differ (1g.10gb, 2g.20gb): make them all alike, or "
                    "give each profile a resource of its own (migStrategy 'mixed')"}}));
  EXPECT_EQ(OddOf({Divided({})}).size(), 1U);
}

TEST(OddGpus, AreNoneThatAnotherResourceHas) {
  const std::vector<Gpu> gpus = {Divided({}), A100()};
  EXPECT_EQ(OddOf(gpus, {.select = {{.index = "1"}}}), Texts());
  EXPECT_EQ(OddOf({Divided({"2g.20gb"}), Divided({"1g.10gb"}), Divided({"1g.10gb"})},
                  {.earlier = {{.mig = "2g.20gb"}}}),
            Texts());
}

TEST(OddGpus, AreAMatterOfResourcesThatAreMadeOfBoth) {
  EXPECT_EQ(MisdividedGpus({}, {{0, A100()}, {1, Divided({})}}), Texts());
}

}  // namespace
}  // namespace tessera::nvidia
