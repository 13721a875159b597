// SPDX-License-Identifier: Apache-2.0
// Cases that the nodes of demo/hardware do not have (facts_test.cc).
#include "backend/nvidia/labels/labels.h"

#include <gtest/gtest.h>

namespace tessera::nvidia {
namespace {

GpuFacts Gpu(const std::string& model) {
  return {.model = model,
          .memory_mib = 300,
          .compute_major = 8,
          .compute_minor = 0,
          .pci_class = 0x030200};
}

MigDevice Device(const std::string& profile, uint32_t slices = 1) {
  return {.profile = profile,
          .attributes = {.multiprocessors = 12,
                         .shared_copy_engines = 13,
                         .shared_decoders = 14,
                         .shared_encoders = 15,
                         .shared_jpeg_engines = 16,
                         .shared_ofa_engines = 17,
                         .gpu_instance_slices = slices,
                         .compute_instance_slices = slices + 1,
                         .memory_mib = 100}};
}

GpuFacts Divided(const std::string& model, std::vector<MigDevice> devices) {
  GpuFacts gpu = Gpu(model);
  gpu.knows_mig = true;
  gpu.mig = {.enabled = true, .devices = std::move(devices)};
  return gpu;
}

// The labels with this prefix, one a line, without it.
std::string Lines(const Labels& labels, const std::string& beginning) {
  std::string text;
  for (const auto& [key, value] : labels) {
    if (!key.starts_with(beginning)) continue;
    text += key.substr(beginning.size()) + "=" + value + "\n";
  }
  return text;
}
std::string GpuLines(const std::vector<GpuFacts>& gpus, const LabelPolicy& policy) {
  return Lines(MakeLabels({.gpus = gpus}, policy, {}), "nvidia.com/gpu.");
}

constexpr LabelPolicy Single() {
  return {.mig_strategy = MigStrategy::kSingle};
}

TEST(Labels, ANodeWithoutGpusTellsOnlyWhenItWasLookedAtAndOfVirtualOnes) {
  EXPECT_EQ(
      MakeLabels({.driver = "570.1", .machine = "DGX", .vgpu = false}, {}, 1'763'800'000),
      (Labels{{"nvidia.com/gfd.timestamp", "1763800000"}, {"nvidia.com/vgpu.present", "false"}}));
  EXPECT_EQ(MakeLabels({}, {}, {}), Labels());
}

TEST(Labels, SharedGpusAreNamedSoUnlessTheirResourceIs) {
  LabelPolicy policy{.gpus = {SharingStrategy::kTimeSlicing, 4, false}};
  EXPECT_EQ(
      GpuLines({Gpu("A 1")}, policy),
      "compute.major=8\ncompute.minor=0\ncount=1\nfamily=ampere\nmachine=unknown\nmemory=300\n"
      "mode=compute\nproduct=A-1-SHARED\nreplicas=4\nsharing-strategy=time-slicing\n");

  policy.gpus.renamed = true;
  EXPECT_EQ(
      GpuLines({Gpu("A 1")}, policy),
      "compute.major=8\ncompute.minor=0\ncount=1\nfamily=ampere\nmachine=unknown\nmemory=300\n"
      "mode=compute\nproduct=A-1\nreplicas=4\nsharing-strategy=time-slicing\n");
}

TEST(Labels, MpsIsForNodesWithoutDividedGpus) {
  const LabelPolicy policy{.mps = true, .gpus = {SharingStrategy::kMps, 4, false}};
  const auto capable = [&](const GpuFacts& gpu) {
    return MakeLabels({.gpus = {Gpu("A"), gpu}}, policy, {}).at("nvidia.com/mps.capable");
  };

  EXPECT_EQ(capable(Gpu("A")), "true");
  EXPECT_EQ(capable(Divided("A", {})), "false");
  EXPECT_EQ(
      GpuLines({Gpu("A")}, policy),
      "compute.major=8\ncompute.minor=0\ncount=1\nfamily=ampere\nmachine=unknown\nmemory=300\n"
      "mode=compute\nproduct=A-SHARED\nreplicas=4\nsharing-strategy=mps\n");
}

TEST(Labels, SharingIsNotOfGpusThatAreDivided) {
  const LabelPolicy policy{.gpus = {SharingStrategy::kTimeSlicing, 2, false}};

  EXPECT_EQ(
      GpuLines({Divided("A", {})}, policy),
      "compute.major=8\ncompute.minor=0\ncount=1\nfamily=ampere\nmachine=unknown\nmemory=300\n"
      "mode=compute\nproduct=A\nreplicas=0\nsharing-strategy=none\n");
  // Whole GPUs of the same model still count.
  EXPECT_EQ(
      GpuLines({Divided("A", {}), Gpu("A")}, policy),
      "compute.major=8\ncompute.minor=0\ncount=2\nfamily=ampere\nmachine=unknown\nmemory=300\n"
      "mode=compute\nproduct=A-SHARED\nreplicas=2\nsharing-strategy=time-slicing\n");
}

TEST(Labels, SingleWithoutDividedGpusTellsOfWholeOnes) {
  const Labels labels = MakeLabels({.gpus = {Gpu("A"), Gpu("A")}}, Single(), {});
  EXPECT_EQ(labels.at("nvidia.com/mig.strategy"), "single");
  EXPECT_EQ(Lines(labels, "nvidia.com/gpu."), GpuLines({Gpu("A"), Gpu("A")}, {}));
}

TEST(Labels, SingleTellsOfMigDevicesThatAreAllAlike) {
  EXPECT_EQ(
      GpuLines({Divided("A", {Device("1g.100gb")}), Divided("A", {Device("1g.100gb")})}, Single()),
      "compute.major=8\ncompute.minor=0\ncount=2\nengines.copy=13\nengines.decoder=14\n"
      "engines.encoder=15\nengines.jpeg=16\nengines.ofa=17\nfamily=ampere\nmachine=unknown\n"
      "memory=100\nmode=compute\nmultiprocessors=12\nproduct=A-MIG-1g.100gb\nreplicas=1\n"
      "sharing-strategy=none\nslices.ci=2\nslices.gi=1\n");
}

TEST(Labels, SingleIsInvalidWhereAGpuIsBareOrWholeOrDevicesDiffer) {
  const std::string invalid =
      "compute.major=8\ncompute.minor=0\ncount=0\nfamily=ampere\nmachine=unknown\nmemory=0\n"
      "mode=compute\nproduct=A-MIG-INVALID\nreplicas=0\nsharing-strategy=\n";
  LabelPolicy shared = Single();
  shared.gpus = {SharingStrategy::kTimeSlicing, 4, false};
  const GpuFacts good = Divided("A", {Device("1g.100gb")});

  EXPECT_EQ(GpuLines({good, Divided("A", {})}, Single()), invalid);
  EXPECT_EQ(GpuLines({good, Gpu("A")}, Single()), invalid);
  EXPECT_EQ(GpuLines({good, Divided("A", {Device("3g.100gb", 3)})}, Single()), invalid);
  EXPECT_EQ(GpuLines({good, Gpu("A")}, shared), invalid);
}

TEST(Labels, MixedNamesAProfileAsItsResourceIsNamedAndSharesByTheFirstThatFits) {
  const LabelPolicy policy{
      .mig_strategy = MigStrategy::kMixed,
      .gpus = {SharingStrategy::kTimeSlicing, 2, false},
      .profiles = {{"1g.100gb+me", {SharingStrategy::kTimeSlicing, 7, false}}, {"*", {}}}};
  const Labels labels = MakeLabels(
      {.gpus = {Divided("A", {Device("1g.100gb+me"), Device("1g.100gb")}), Gpu("A")}}, policy, {});

  EXPECT_EQ(Lines(labels, "nvidia.com/mig-1g.100gb.me."),
            "count=1\nengines.copy=13\nengines.decoder=14\nengines.encoder=15\nengines.jpeg=16\n"
            "engines.ofa=17\nmemory=100\nmultiprocessors=12\nproduct=A-MIG-1g.100gb.me-SHARED\n"
            "replicas=7\nsharing-strategy=time-slicing\nslices.ci=2\nslices.gi=1\n");
  EXPECT_EQ(labels.at("nvidia.com/mig-1g.100gb.replicas"), "1");
  EXPECT_EQ(labels.at("nvidia.com/gpu.product"), "A-SHARED");
}

TEST(Labels, OfSeveralModelsTheOneWithTheMostGpusIsTold) {
  GpuFacts other = Gpu("B");
  other.memory_mib = 0;
  other.compute_major = 9;
  EXPECT_EQ(GpuLines({Gpu("A"), other, other}, {}),
            "compute.major=9\ncompute.minor=0\ncount=2\nfamily=hopper\nmachine=unknown\n"
            "mode=compute\nproduct=B\nreplicas=1\nsharing-strategy=none\n");
  // The first GPU's model wins a tie. A model with whole GPUs comes before one with only divided
  // GPUs.
  EXPECT_EQ(GpuLines({Gpu("A"), other}, {}), GpuLines({Gpu("A")}, {}));
  EXPECT_EQ(GpuLines({Divided("B", {}), Divided("B", {}), Gpu("A")}, {}), GpuLines({Gpu("A")}, {}));
}

TEST(Labels, WhatOneGpuDoesNotTellAnotherOfItsModelDoes) {
  GpuFacts silent = Gpu("A");
  silent.memory_mib = 0;
  silent.compute_major = 0;
  EXPECT_EQ(GpuLines({silent, Gpu("A")}, {}), GpuLines({Gpu("A"), Gpu("A")}, {}));
}

TEST(Labels, WhatNobodyTellsIsLeftOut) {
  EXPECT_EQ(Lines(MakeLabels({.driver = "570", .gpus = {{.model = "A"}}}, {}, {}), "nvidia.com/"),
            "gpu.count=1\ngpu.machine=unknown\ngpu.mode=unknown\ngpu.product=A\ngpu.replicas=1\n"
            "gpu.sharing-strategy=none\nmig.capable=false\nmps.capable=false\n");
}

TEST(Labels, TheModeIsThatOfAllGpus) {
  const auto mode = [](std::optional<uint32_t> a, std::optional<uint32_t> b) {
    GpuFacts first = Gpu("A");
    GpuFacts second = Gpu("A");
    first.pci_class = a;
    second.pci_class = b;
    return MakeLabels({.gpus = {first, second}}, {}, {}).at("nvidia.com/gpu.mode");
  };
  EXPECT_EQ(mode(0x030000, 0x030000), "graphics");
  EXPECT_EQ(mode(0x030200, 0x030200), "compute");
  EXPECT_EQ(mode(0x030200, 0x030000), "unknown");
  EXPECT_EQ(mode(0x030200, {}), "unknown");
  EXPECT_EQ(mode(0x040300, 0x040300), "unknown");
}

TEST(Labels, ACliqueIsToldWhereAllGpusThatAreInOneAreInTheSame) {
  const auto cliques = [](const std::vector<std::optional<Clique>>& all) {
    std::vector<GpuFacts> gpus;
    for (const auto& clique : all) {
      gpus.push_back(Gpu("A"));
      gpus.back().clique = clique;
    }
    return Lines(MakeLabels({.gpus = gpus}, {}, {}), "nvidia.com/gpu.clique");
  };
  EXPECT_EQ(cliques({Clique{"c", 1}, Clique{"c", 1}}), "=c.1\n");
  EXPECT_EQ(cliques({Clique{"c", 1}, {}}), "=c.1\n");
  EXPECT_EQ(cliques({Clique{"c", 1}, Clique{"c", 2}}), "");
  EXPECT_EQ(cliques({Clique{"c", 1}, Clique{"d", 1}}), "");
  EXPECT_EQ(cliques({{}, {}}), "");
}

TEST(Labels, CudasMinorVersionMayHaveTwoDigits) {
  EXPECT_EQ(Lines(MakeLabels({.cuda = 13120, .gpus = {Gpu("A")}}, {}, {}),
                  "nvidia.com/cuda.runtime-version."),
            "full=13.12\nmajor=13\nminor=12\n");
}

TEST(Labels, ALongModelIsCutAndWhatStandsBehindItStays) {
  const std::string model = std::string(50, 'm') + " - RTX Server Edition";
  LabelPolicy policy = Single();
  policy.gpus = {SharingStrategy::kTimeSlicing, 2, false};
  const auto product = [&](const GpuFacts& gpu) {
    return MakeLabels({.gpus = {gpu}}, policy, {}).at("nvidia.com/gpu.product");
  };

  EXPECT_EQ(product(Gpu(model)), std::string(50, 'm') + "---RTX-SHARED");
  EXPECT_EQ(product(Divided(model, {Device("1g.100gb")})),
            std::string(43, 'm') + "-MIG-1g.100gb-SHARED");
  EXPECT_EQ(product(Gpu(std::string(50, 'm') + "-----")), std::string(50, 'm') + "-SHARED");
}

TEST(Labels, OtherValuesAreCutAsWell) {
  EXPECT_EQ(MakeLabels({.machine = std::string(62, 'x') + " y", .gpus = {Gpu("A")}}, {}, {})
                .at("nvidia.com/gpu.machine"),
            std::string(62, 'x'));
}

TEST(Sanitised, IsWordsOfPlainCharactersWithADashBetween) {
  EXPECT_EQ(Sanitised("NVIDIA A100-SXM4-40GB"), "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(Sanitised("  NVIDIA   TITAN X (Pascal) "), "NVIDIA-TITAN-X-Pascal");
  EXPECT_EQ(Sanitised("Quadro & RTX/6000_a.b"), "Quadro-RTX6000_a.b");
  EXPECT_EQ(Sanitised("a\tb\nc"), "abc");
  EXPECT_EQ(Sanitised("\u00e9t\u00e9 1"), "t-1");
  EXPECT_EQ(Sanitised(""), "");
  EXPECT_EQ(Sanitised("()"), "");
}

TEST(Cut, LeavesALetterOrDigitAtBothEnds) {
  EXPECT_EQ(Cut("-a.b-", 63), "a.b");
  EXPECT_EQ(Cut("abc-d", 4), "abc");
  EXPECT_EQ(Cut("abc-d", 5), "abc-d");
  EXPECT_EQ(Cut("...", 63), "");
  EXPECT_EQ(Cut(std::string(64, 'a'), 63), std::string(63, 'a'));
}

TEST(FamilyOf, NamesEveryComputeCapability) {
  const std::map<std::pair<int, int>, std::string> families = {
      {{1, 3}, "tesla"},      {{2, 0}, "fermi"},        {{3, 5}, "kepler"},
      {{5, 2}, "maxwell"},    {{6, 1}, "pascal"},       {{7, 0}, "volta"},
      {{7, 2}, "volta"},      {{7, 5}, "turing"},       {{8, 0}, "ampere"},
      {{8, 7}, "ampere"},     {{8, 9}, "ada-lovelace"}, {{9, 0}, "hopper"},
      {{10, 3}, "blackwell"}, {{12, 1}, "blackwell"},   {{13, 0}, "rubin"},
      {{4, 0}, "undefined"},  {{11, 0}, "undefined"},   {{-1, 0}, "undefined"},
      {{14, 0}, "undefined"}};
  for (const auto& [compute, family] : families) {
    EXPECT_EQ(FamilyOf(compute.first, compute.second), family) << compute.first;
  }
}

}  // namespace
}  // namespace tessera::nvidia
