// SPDX-License-Identifier: Apache-2.0
#include "hami/requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tessera::hami {
namespace {

using Quantities = std::map<std::string, std::string, std::less<>>;

Container App(const std::string& name, const Quantities& limits = {}) {
  return {.name = name, .kind = ContainerKind::kApp, .limits = limits};
}
Container Init(const std::string& name, const Quantities& limits = {}) {
  return {.name = name, .kind = ContainerKind::kInit, .limits = limits};
}
Container Sidecar(const std::string& name, const Quantities& limits = {}) {
  return {.name = name, .kind = ContainerKind::kSidecar, .limits = limits};
}

const Quantities kOne = {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3000"}};

Entry OneOf(const std::string& uuid, int32_t memory = 3000, int32_t cores = 0) {
  return {{uuid, "NVIDIA", memory, cores}};
}

RequestRules DefaultsOf(int32_t memory, int32_t cores, int32_t factor) {
  RequestRules rules;
  rules.default_memory = memory;
  rules.default_cores = cores;
  rules.memory_factor = factor;
  return rules;
}

std::optional<Request> Resolved(const Quantities& limits, const RequestRules& rules = {}) {
  auto request = Resolve(App("app", limits), rules);
  EXPECT_TRUE(request) << request.error().message;
  return request ? *request : std::nullopt;
}

std::string ResolveError(const Quantities& limits, const RequestRules& rules = {}) {
  const auto request = Resolve(App("app", limits), rules);
  return request ? "" : request.error().message;
}

TEST(Resolve, AContainerWithoutTheCountAsksForNothing) {
  EXPECT_EQ(Resolved({}), std::nullopt);
  EXPECT_EQ(Resolved({{"nvidia.com/gpumem", "3000"}, {"cpu", "500m"}}), std::nullopt);
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "0"}}), std::nullopt);
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "1.5"}}), std::nullopt);
}

TEST(Resolve, WithoutMoreItIsAllOfTheCardAndNoLimitOfCores) {
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "2"}}), (Request{.count = 2, .percentage = 100}));
}

TEST(Resolve, MemoryAndCoresAreTaken) {
  EXPECT_EQ(
      Resolved(
          {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3000"}, {"nvidia.com/gpucores", "30"}}),
      (Request{.count = 1, .memory = 3000, .cores = 30}));
}

TEST(Resolve, QuantitiesThatAreWholeNumbersCount) {
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "2000m"},
                      {"nvidia.com/gpumem", "3k"},
                      {"nvidia.com/gpucores", "3e1"}}),
            (Request{.count = 2, .memory = 3000, .cores = 30}));
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "1Gi"}}),
            (Request{.count = 1, .memory = 1 << 30}));
}

TEST(Resolve, ALimitCountsBeforeARequest) {
  Container container = App("app", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3000"}});
  container.requests = {{"nvidia.com/gpu", "2"}, {"nvidia.com/gpucores", "30"}};
  EXPECT_EQ(Resolve(container, {}), (Request{.count = 1, .memory = 3000, .cores = 30}));
  container.limits.clear();
  EXPECT_EQ(Resolve(container, {}), (Request{.count = 2, .percentage = 100, .cores = 30}));
}

TEST(Resolve, APercentageIsAtMostAHundredAndCountsAboveZero) {
  const auto percentage = [](const std::string& text) {
    return Resolved({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem-percentage", text}},
                    DefaultsOf(5000, 0, 1));
  };
  EXPECT_EQ(percentage("50"), (Request{.count = 1, .percentage = 50}));
  EXPECT_EQ(percentage("101"), (Request{.count = 1, .percentage = 100}));
  EXPECT_EQ(percentage("9k"), (Request{.count = 1, .percentage = 100}));
  EXPECT_EQ(percentage("0"), (Request{.count = 1, .memory = 5000}));
  EXPECT_EQ(percentage("-5"), (Request{.count = 1, .memory = 5000}));
  EXPECT_EQ(percentage("0.5"), (Request{.count = 1, .memory = 5000}));
}

TEST(Resolve, DefaultsHoldWhereNothingIsSaid) {
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "1"}}, DefaultsOf(5000, 40, 1)),
            (Request{.count = 1, .memory = 5000, .cores = 40}));
  EXPECT_EQ(
      Resolved({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "0"}, {"nvidia.com/gpucores", "0"}},
               DefaultsOf(5000, 40, 1)),
      (Request{.count = 1, .memory = 5000, .cores = 0}));
}

TEST(Resolve, TheFactorCountsForARequestAndNotForTheDefault) {
  EXPECT_EQ(
      Resolved({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3"}}, DefaultsOf(5000, 0, 1024)),
      (Request{.count = 1, .memory = 3072}));
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "1"}}, DefaultsOf(5000, 0, 1024)),
            (Request{.count = 1, .memory = 5000}));
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3"}}, DefaultsOf(0, 0, 0)),
            (Request{.count = 1, .memory = 3}));
}

TEST(Resolve, CoresAreAtMostAHundred) {
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "200"}}),
            (Request{.count = 1, .percentage = 100, .cores = 100}));
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "4294967301"}}),
            (Request{.count = 1, .percentage = 100, .cores = 100}));
}

TEST(Resolve, MemoryThatNoInt32HoldsIsRefused) {
  const std::string refused =
      "container app asks for {} of nvidia.com/gpumem, which is no number "
      "below 2^31";
  const auto memory = [](const std::string& text, int32_t factor = 1) {
    return ResolveError({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", text}},
                        DefaultsOf(0, 0, factor));
  };
  EXPECT_EQ(memory("2147483647"), "");
  EXPECT_EQ(memory("2147483648"), fmt::format(fmt::runtime(refused), "2147483648"));
  EXPECT_EQ(memory("4Gi"), fmt::format(fmt::runtime(refused), "4Gi"));
  EXPECT_EQ(memory("1.5"), fmt::format(fmt::runtime(refused), "1.5"));
  EXPECT_EQ(memory("-1"), fmt::format(fmt::runtime(refused), "-1"));
  EXPECT_EQ(memory("2097151", 1024), "");
  EXPECT_EQ(memory("2097152", 1024), fmt::format(fmt::runtime(refused), "2097152"));
  EXPECT_EQ(ResolveError({{"nvidia.com/gpu", "3G"}}),
            "container app asks for 3G of nvidia.com/gpu, which is no number below 2^31");
}

TEST(Resolve, TheSiteNamesTheResources) {
  RequestRules rules;
  rules.count_name = "a.com/gpu";
  rules.memory_name = "a.com/mem";
  rules.percentage_name = "a.com/percent";
  rules.cores_name = "a.com/cores";
  EXPECT_EQ(Resolved({{"a.com/gpu", "1"}, {"a.com/percent", "20"}, {"a.com/cores", "7"}}, rules),
            (Request{.count = 1, .percentage = 20, .cores = 7}));
  EXPECT_EQ(Resolved({{"a.com/gpu", "1"}, {"a.com/mem", "20"}}, rules),
            (Request{.count = 1, .memory = 20}));
  EXPECT_EQ(Resolved(kOne, rules), std::nullopt);
}

TEST(MemoryOn, IsThatOfTheRequestOrAPartOfTheCardCutOff) {
  EXPECT_EQ((Request{.count = 1, .memory = 3000}).MemoryOn(81'559), 3000);
  EXPECT_EQ((Request{.count = 1, .percentage = 33}).MemoryOn(81'559), 26'914);  // 26914.47
  EXPECT_EQ((Request{.count = 1, .percentage = 100}).MemoryOn(INT32_MAX), INT32_MAX);
  EXPECT_EQ((Request{.count = 1, .memory = 3000, .percentage = 50}).MemoryOn(81'559), 3000);
}

std::vector<Entry> ByContainer(const std::vector<Container>& containers, std::string_view text) {
  const auto allocated = DecodePodDevices(text);
  EXPECT_TRUE(allocated) << text;
  auto entries = EntriesByContainer(containers, {}, *allocated);
  EXPECT_TRUE(entries) << entries.error().message;
  return entries ? *std::move(entries) : std::vector<Entry>();
}

TEST(EntriesByContainer, PlaceholdersOrNoneTheContainerThatAsksGetsTheEntry) {
  const std::vector<Container> containers = {App("web"), App("model", kOne)};
  const std::vector<Entry> expected = {{}, OneOf("GPU-a")};
  EXPECT_EQ(ByContainer(containers, ";GPU-a,NVIDIA,3000,0:;"), expected);
  EXPECT_EQ(ByContainer(containers, "GPU-a,NVIDIA,3000,0:;"), expected);
  EXPECT_EQ(ByContainer(containers, ",,0,0:;GPU-a,NVIDIA,3000,0:;;"), expected);
}

TEST(EntriesByContainer, AnInitContainerThatDoesNotAskGetsNothing) {
  const std::vector<Container> containers = {Init("fetch"), App("model", kOne)};
  const std::vector<Entry> expected = {{}, OneOf("GPU-a")};
  EXPECT_EQ(ByContainer(containers, ";GPU-a,NVIDIA,3000,0:;"), expected);
  EXPECT_EQ(ByContainer(containers, "GPU-a,NVIDIA,3000,0:;"), expected);
}

TEST(EntriesByContainer, InitContainersAndSidecarsComeFirstWhereverTheyAreListed) {
  const std::vector<Container> containers = {App("model", kOne), Init("fetch", kOne),
                                             Sidecar("watch", kOne)};
  EXPECT_EQ(
      ByContainer(containers, "GPU-a,NVIDIA,3000,0:;GPU-b,NVIDIA,3000,0:;GPU-c,NVIDIA,3000,0:;"),
      (std::vector<Entry>{OneOf("GPU-c"), OneOf("GPU-a"), OneOf("GPU-b")}));
}

TEST(EntriesByContainer, OneThatHamiPassesOverHasNoEntry) {
  const std::vector<Container> containers = {
      App("greedy", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "4Gi"}}), App("model", kOne)};
  EXPECT_EQ(ByContainer(containers, "GPU-a,NVIDIA,3000,0:;"),
            (std::vector<Entry>{{}, OneOf("GPU-a")}));
}

TEST(EntriesByContainer, APodThatAsksForNothingHasNothing) {
  EXPECT_EQ(ByContainer({App("web")}, ""), std::vector<Entry>(1));
  EXPECT_EQ(ByContainer({}, ";"), std::vector<Entry>());
}

TEST(EntriesByContainer, AnErrorSaysWhatDoesNotFit) {
  const auto error = [](const std::vector<Container>& containers, std::string_view text) {
    const auto entries = EntriesByContainer(containers, {}, *DecodePodDevices(text));
    return entries ? "" : entries.error().message;
  };
  EXPECT_EQ(error({Init("fetch", kOne), App("model", kOne)}, "GPU-a,NVIDIA,3000,0:;"),
            "hami.io/vgpu-devices-allocated has devices for 1 container, but 2 ask for "
            "nvidia.com/gpu: fetch, model");
  EXPECT_EQ(error({App("model", kOne)}, "GPU-a,NVIDIA,3000,0:;GPU-a,NVIDIA,3000,0:;"),
            "hami.io/vgpu-devices-allocated has devices for 2 containers, but 1 asks for "
            "nvidia.com/gpu: model");
  EXPECT_EQ(error({App("web")}, "GPU-a,NVIDIA,3000,0:;"),
            "hami.io/vgpu-devices-allocated has devices for 1 container, but 0 ask for "
            "nvidia.com/gpu");
}

TEST(EntriesByContainer, EveryRandomPodFindsItsOwnWithAndWithoutPlaceholders) {
  std::mt19937 random(6);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<Container> containers(1 + random() % 6);
    std::vector<Entry> expected(containers.size());
    for (size_t i = 0; i < containers.size(); ++i) {
      containers[i] = {.name = std::to_string(i), .kind = static_cast<ContainerKind>(random() % 3)};
    }
    std::ranges::stable_partition(
        containers, [](const Container& one) { return one.kind != ContainerKind::kApp; });
    for (size_t i = 0; i < containers.size(); ++i) {
      if (random() % 2 == 0) continue;
      containers[i].limits = kOne;
      expected[i] = OneOf("GPU-" + std::to_string(i));
    }
    std::vector<Entry> allocated = expected;
    ASSERT_EQ(EntriesByContainer(containers, {}, allocated), expected);
    std::erase_if(allocated, [&](const Entry& one) { return one.empty() && random() % 2 == 0; });
    ASSERT_EQ(EntriesByContainer(containers, {}, allocated), expected);
    allocated.push_back(OneOf("GPU-forged"));
    ASSERT_FALSE(EntriesByContainer(containers, {}, allocated));
  }
}

const std::vector<RegisteredDevice> kCards = {
    {.id = "GPU-a", .devmem = 80'000, .devcore = 100, .mode = "hami-core"},
    {.id = "GPU-b", .devmem = 40'000, .devcore = 100, .mode = "hami-core"},
    {.id = "GPU-m",
     .devmem = 40'000,
     .devcore = 100,
     .mode = "mig",
     .mig_profiles = {{"1g.5gb", 4864, 15, 1, {}}, {"2g.10gb", 9856, 29, 2, {}}}}};

std::string EntryError(const Entry& entry, const Request& request) {
  const auto status = CheckEntry(entry, request, kCards);
  return status ? "" : status.error().message;
}

TEST(CheckEntry, WhatIsAskedForIsAccepted) {
  EXPECT_EQ(EntryError(OneOf("GPU-a", 3000, 30), {.count = 1, .memory = 3000, .cores = 30}), "");
  EXPECT_EQ(EntryError(OneOf("GPU-a", 2999, 29), {.count = 1, .memory = 3000, .cores = 30}), "");
  EXPECT_EQ(EntryError({{"GPU-a", "NVIDIA", 40'000, 0}, {"GPU-b", "NVIDIA", 20'000, 0}},
                       {.count = 2, .percentage = 50}),
            "");
}

TEST(CheckEntry, AnotherNumberOfCardsIsRefused) {
  EXPECT_EQ(EntryError(OneOf("GPU-a"), {.count = 2, .memory = 3000}),
            "1 device, where the container asks for 2");
  EXPECT_EQ(EntryError({}, {.count = 1, .memory = 3000}),
            "0 devices, where the container asks for 1");
}

TEST(CheckEntry, MoreMemoryIsRefusedAndNoLimitAsWell) {
  const Request request = {.count = 1, .memory = 3000};
  EXPECT_EQ(EntryError(OneOf("GPU-a", 3001), request),
            "3001 MiB of GPU-a, where the container asks for 3000");
  EXPECT_EQ(EntryError(OneOf("GPU-a", 0), request),
            "0 MiB of GPU-a, where the container asks for 3000");
  EXPECT_EQ(EntryError(OneOf("GPU-a", -1), request),
            "-1 MiB of GPU-a, where the container asks for 3000");
}

TEST(CheckEntry, APercentageIsThatOfTheCard) {
  const Request half = {.count = 1, .percentage = 50};
  EXPECT_EQ(EntryError(OneOf("GPU-a", 40'000), half), "");
  EXPECT_EQ(EntryError(OneOf("GPU-b", 40'000), half),
            "40000 MiB of GPU-b, where the container asks for 20000");
}

TEST(CheckEntry, MoreCoresAreRefusedAndNoLimitAsWell) {
  const Request request = {.count = 1, .memory = 3000, .cores = 30};
  EXPECT_EQ(EntryError(OneOf("GPU-a", 3000, 31), request),
            "31 % of the cores of GPU-a, where the container asks for 30");
  EXPECT_EQ(EntryError(OneOf("GPU-a", 3000, 0), request),
            "0 % of the cores of GPU-a, where the container asks for 30");
}

TEST(CheckEntry, AnyCoresFitOneThatAsksForNoLimit) {
  const Request request = {.count = 1, .memory = 3000};
  EXPECT_EQ(EntryError(OneOf("GPU-a", 3000, 100), request), "");
  EXPECT_EQ(EntryError(OneOf("GPU-a", 3000, 101), request),
            "101 % of the cores of GPU-a, where the container asks for 0");
  EXPECT_EQ(EntryError(OneOf("GPU-a", 3000, -1), request),
            "-1 % of the cores of GPU-a, where the container asks for 0");
}

TEST(CheckEntry, ACardOfAnotherNodeIsRefused) {
  EXPECT_EQ(EntryError(OneOf("GPU-x"), {.count = 1, .memory = 3000}),
            "GPU-x is no card of this node");
}

TEST(CheckEntry, ACardIsThereOnce) {
  EXPECT_EQ(EntryError({{"GPU-a", "NVIDIA", 3000, 0}, {"GPU-a", "NVIDIA", 3000, 0}},
                       {.count = 2, .memory = 3000}),
            "GPU-a is there twice");
}

TEST(CheckEntry, OnACardInMigModeAnEntryIsOneOfItsProfiles) {
  const Request request = {.count = 2, .memory = 3000};
  EXPECT_EQ(EntryError({{"GPU-m", "NVIDIA", 4864, 15}, {"GPU-m", "NVIDIA", 9856, 29}}, request),
            "");
  EXPECT_EQ(EntryError({{"GPU-m", "NVIDIA", 4864, 15}, {"GPU-m", "NVIDIA", 9856, 15}}, request),
            "9856 MiB and 15 % of the cores of GPU-m are none of its MIG profiles");
}

TEST(LessThanAsked, SaysWhatOfEachCardIsLess) {
  EXPECT_EQ(LessThanAsked({{"GPU-a", "NVIDIA", 2999, 29}, {"GPU-b", "NVIDIA", 3000, 30}},
                          {.count = 2, .memory = 3000, .cores = 30}, kCards),
            "2999 MiB of GPU-a instead of 3000, 29 % of the cores of GPU-a instead of 30");
  EXPECT_EQ(LessThanAsked(OneOf("GPU-b", 19'999), {.count = 1, .percentage = 50}, kCards),
            "19999 MiB of GPU-b instead of 20000");
  EXPECT_EQ(LessThanAsked(OneOf("GPU-a", 3000, 99), {.count = 1, .memory = 3000}, kCards),
            "99 % of the cores of GPU-a instead of 100");
}

TEST(LessThanAsked, IsNothingWhereItIsAllOrOfAMigProfile) {
  EXPECT_EQ(LessThanAsked(OneOf("GPU-a", 3000, 0), {.count = 1, .memory = 3000}, kCards), "");
  EXPECT_EQ(LessThanAsked(OneOf("GPU-a", 3000, 100), {.count = 1, .memory = 3000}, kCards), "");
  EXPECT_EQ(LessThanAsked(OneOf("GPU-m", 4864, 15), {.count = 1, .percentage = 100}, kCards), "");
}

using Usage = std::map<std::string, CardUsage>;

TEST(UsageByCard, AppContainersAddUp) {
  const std::vector<Container> containers = {App("one"), App("two"), App("three")};
  const std::vector<Entry> entries = {OneOf("GPU-a", 3000, 30), OneOf("GPU-a", 1000, 20),
                                      OneOf("GPU-b", 500, 0)};
  EXPECT_EQ(UsageByCard(containers, entries),
            (Usage{{"GPU-a", {2, 4000, 50}}, {"GPU-b", {1, 500, 0}}}));
}

TEST(UsageByCard, OfInitContainersTheLargestCounts) {
  const std::vector<Container> containers = {Init("one"), Init("two"), App("three")};
  EXPECT_EQ(UsageByCard(containers, std::vector{OneOf("GPU-a", 3000, 10), OneOf("GPU-a", 1000, 90),
                                                OneOf("GPU-a", 2000, 20)}),
            (Usage{{"GPU-a", {1, 3000, 90}}}));
  EXPECT_EQ(UsageByCard(containers, std::vector{OneOf("GPU-a", 3000, 10), OneOf("GPU-b", 1000, 90),
                                                OneOf("GPU-a", 4000, 20)}),
            (Usage{{"GPU-a", {1, 4000, 20}}, {"GPU-b", {1, 1000, 90}}}));
}

TEST(UsageByCard, ASidecarCountsWithTheInitContainersBehindItAndWithTheApps) {
  const std::vector<Container> containers = {Init("before"), Sidecar("watch"), Init("behind"),
                                             App("app")};
  const auto usage = [&](int32_t before, int32_t sidecar, int32_t behind, int32_t app) {
    return UsageByCard(containers, std::vector{OneOf("GPU-a", before), OneOf("GPU-a", sidecar),
                                               OneOf("GPU-a", behind), OneOf("GPU-a", app)});
  };
  EXPECT_EQ(usage(9, 2, 3, 4), (Usage{{"GPU-a", {2, 9, 0}}}));
  EXPECT_EQ(usage(1, 2, 6, 4), (Usage{{"GPU-a", {2, 8, 0}}}));
  EXPECT_EQ(usage(1, 2, 3, 4), (Usage{{"GPU-a", {2, 6, 0}}}));
}

TEST(UsageByCard, ThePlaceInTheListDoesNotMatterForAppContainers) {
  const std::vector<Container> containers = {App("app"), Init("fetch")};
  EXPECT_EQ(UsageByCard(containers, std::vector{OneOf("GPU-a", 3000), OneOf("GPU-a", 5000)}),
            (Usage{{"GPU-a", {1, 5000, 0}}}));
}

TEST(UsageByCard, NoDevicesAreNoUsage) {
  EXPECT_EQ(UsageByCard(std::vector{App("web")}, std::vector<Entry>(1)), Usage());
}

}  // namespace
}  // namespace tessera::hami
