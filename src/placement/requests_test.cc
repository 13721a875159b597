// SPDX-License-Identifier: Apache-2.0
#include "placement/requests.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using Quantities = std::map<std::string, std::string, std::less<>>;

kube::Container App(const std::string& name, const Quantities& limits = {}) {
  return {.name = name, .limits = limits};
}

// As HAMi's chart names them.
RequestRules Rules(int32_t memory = 0, int32_t cores = 0, int32_t factor = 1) {
  return {.count_name = "nvidia.com/gpu",
          .memory_name = "nvidia.com/gpumem",
          .percentage_name = "nvidia.com/gpumem-percentage",
          .cores_name = "nvidia.com/gpucores",
          .default_memory = memory,
          .default_cores = cores,
          .memory_factor = factor};
}

const Quantities kOne = {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3000"}};

std::optional<Request> Resolved(const Quantities& limits, const RequestRules& rules = Rules()) {
  auto request = Resolve(App("app", limits), rules);
  EXPECT_TRUE(request) << request.error().message;
  return request ? *request : std::nullopt;
}

std::string ResolveError(const Quantities& limits, const RequestRules& rules = Rules()) {
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
  kube::Container container = App("app", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3000"}});
  container.requests = {{"nvidia.com/gpu", "2"}, {"nvidia.com/gpucores", "30"}};
  EXPECT_EQ(Resolve(container, Rules()), (Request{.count = 1, .memory = 3000, .cores = 30}));
  container.limits.clear();
  EXPECT_EQ(Resolve(container, Rules()), (Request{.count = 2, .percentage = 100, .cores = 30}));
}

TEST(Resolve, APercentageIsAtMostAHundredAndCountsAboveZero) {
  const auto percentage = [](const std::string& text) {
    return Resolved({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem-percentage", text}},
                    Rules(5000, 0, 1));
  };
  EXPECT_EQ(percentage("50"), (Request{.count = 1, .percentage = 50}));
  EXPECT_EQ(percentage("101"), (Request{.count = 1, .percentage = 100}));
  EXPECT_EQ(percentage("9k"), (Request{.count = 1, .percentage = 100}));
  EXPECT_EQ(percentage("0"), (Request{.count = 1, .memory = 5000}));
  EXPECT_EQ(percentage("-5"), (Request{.count = 1, .memory = 5000}));
  EXPECT_EQ(percentage("0.5"), (Request{.count = 1, .memory = 5000}));
}

TEST(Resolve, DefaultsHoldWhereNothingIsSaid) {
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "1"}}, Rules(5000, 40, 1)),
            (Request{.count = 1, .memory = 5000, .cores = 40}));
  EXPECT_EQ(
      Resolved({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "0"}, {"nvidia.com/gpucores", "0"}},
               Rules(5000, 40, 1)),
      (Request{.count = 1, .memory = 5000, .cores = 0}));
}

TEST(Resolve, TheFactorCountsForARequestAndNotForTheDefault) {
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3"}}, Rules(5000, 0, 1024)),
            (Request{.count = 1, .memory = 3072}));
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "1"}}, Rules(5000, 0, 1024)),
            (Request{.count = 1, .memory = 5000}));
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3"}}, Rules(0, 0, 0)),
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
      "container app asks for {} of nvidia.com/gpumem, which is not a number below 2^31";
  const auto memory = [](const std::string& text, int32_t factor = 1) {
    return ResolveError({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", text}},
                        Rules(0, 0, factor));
  };
  EXPECT_EQ(memory("2147483647"), "");
  EXPECT_EQ(memory("2147483648"), fmt::format(fmt::runtime(refused), "2147483648"));
  EXPECT_EQ(memory("4Gi"), fmt::format(fmt::runtime(refused), "4Gi"));
  EXPECT_EQ(memory("1.5"), fmt::format(fmt::runtime(refused), "1.5"));
  EXPECT_EQ(memory("-1"), fmt::format(fmt::runtime(refused), "-1"));
  EXPECT_EQ(memory("2097151", 1024), "");
  EXPECT_EQ(memory("2097152", 1024), fmt::format(fmt::runtime(refused), "2097152"));
  EXPECT_EQ(ResolveError({{"nvidia.com/gpu", "3G"}}),
            "container app asks for 3G of nvidia.com/gpu, which is not a number below 2^31");
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

const std::vector<DeviceCapacity> kCapacities = {
    {.device = "GPU-a", .memory = 80'000, .cores = 100},
    {.device = "GPU-b", .memory = 40'000, .cores = 100}};

using Parts = std::vector<Fraction>;

Parts OneOf(const std::string& device, int64_t memory = 3000, int cores = 0) {
  return {{device, memory, cores}};
}

std::string PartsError(const Parts& parts, const Request& request) {
  const auto status = CheckParts(parts, request, kCapacities);
  return status ? "" : status.error().message;
}

TEST(CheckParts, WhatIsAskedForIsAccepted) {
  EXPECT_EQ(PartsError(OneOf("GPU-a", 3000, 30), {.count = 1, .memory = 3000, .cores = 30}), "");
  EXPECT_EQ(PartsError(OneOf("GPU-a", 2999, 29), {.count = 1, .memory = 3000, .cores = 30}), "");
  EXPECT_EQ(
      PartsError({{"GPU-a", 40'000, 0}, {"GPU-b", 20'000, 0}}, {.count = 2, .percentage = 50}), "");
}

TEST(CheckParts, AnotherNumberOfCardsIsRefused) {
  EXPECT_EQ(PartsError(OneOf("GPU-a"), {.count = 2, .memory = 3000}),
            "1 device, where the container asks for 2");
  EXPECT_EQ(PartsError({}, {.count = 1, .memory = 3000}),
            "0 devices, where the container asks for 1");
}

TEST(CheckParts, MoreMemoryIsRefusedAndNoLimitAsWell) {
  const Request request = {.count = 1, .memory = 3000};
  EXPECT_EQ(PartsError(OneOf("GPU-a", 3001), request),
            "3001 MiB of GPU-a, where the container asks for 3000");
  EXPECT_EQ(PartsError(OneOf("GPU-a", 0), request),
            "0 MiB of GPU-a, where the container asks for 3000");
  EXPECT_EQ(PartsError(OneOf("GPU-a", -1), request),
            "-1 MiB of GPU-a, where the container asks for 3000");
}

TEST(CheckParts, APercentageIsThatOfTheCard) {
  const Request half = {.count = 1, .percentage = 50};
  EXPECT_EQ(PartsError(OneOf("GPU-a", 40'000), half), "");
  EXPECT_EQ(PartsError(OneOf("GPU-b", 40'000), half),
            "40000 MiB of GPU-b, where the container asks for 20000");
}

TEST(CheckParts, MoreCoresAreRefusedAndNoLimitAsWell) {
  const Request request = {.count = 1, .memory = 3000, .cores = 30};
  EXPECT_EQ(PartsError(OneOf("GPU-a", 3000, 31), request),
            "31 % of the cores of GPU-a, where the container asks for 30");
  EXPECT_EQ(PartsError(OneOf("GPU-a", 3000, 0), request),
            "0 % of the cores of GPU-a, where the container asks for 30");
}

TEST(CheckParts, AnyCoresFitOneThatAsksForNoLimit) {
  const Request request = {.count = 1, .memory = 3000};
  EXPECT_EQ(PartsError(OneOf("GPU-a", 3000, 100), request), "");
  EXPECT_EQ(PartsError(OneOf("GPU-a", 3000, 101), request),
            "101 % of the cores of GPU-a, where the container asks for 0");
  EXPECT_EQ(PartsError(OneOf("GPU-a", 3000, -1), request),
            "-1 % of the cores of GPU-a, where the container asks for 0");
}

TEST(CheckParts, ACardOfAnotherNodeIsRefused) {
  EXPECT_EQ(PartsError(OneOf("GPU-x"), {.count = 1, .memory = 3000}),
            "GPU-x is not a card of this node");
}

TEST(CheckParts, ACardIsThereOnce) {
  EXPECT_EQ(PartsError({{"GPU-a", 3000, 0}, {"GPU-a", 3000, 0}}, {.count = 2, .memory = 3000}),
            "GPU-a is there twice");
}

TEST(CheckParts, ComputeUnitsAreThePercentageOfTheDevicesOwn) {
  const std::vector<DeviceCapacity> capacities = {
      {.device = "a", .containers = 10, .memory = 10'000, .cores = 304, .has_units = true}};
  const Request request{.count = 1, .memory = 1'000, .cores = 25};
  const auto check = [&](int units) -> std::string {
    const std::vector<Fraction> parts = {{.device = "a", .memory = 1'000, .cores = units}};
    const Status fits = CheckParts(parts, request, capacities);
    return fits ? LessThanAsked(parts, request, capacities) : fits.error().message;
  };
  EXPECT_EQ(check(76), "");
  EXPECT_EQ(check(77), "77 compute units of a, where the container asks for 76");
  EXPECT_EQ(check(0), "0 compute units of a, where the container asks for 76");
  EXPECT_EQ(check(1), "1 compute unit of a instead of 76");
  EXPECT_EQ(CoresOn({.cores = 1}, {.device = "a", .cores = 20, .has_units = true}), 1);
  EXPECT_EQ(CoresOn({.cores = 100}, {.device = "a", .cores = 304, .has_units = true}), 304);
  EXPECT_EQ(CoresOn({.cores = 0}, {.device = "a", .cores = 304, .has_units = true}), 304);
}

TEST(LessThanAsked, SaysWhatOfEachCardIsLess) {
  EXPECT_EQ(LessThanAsked(Parts{{"GPU-a", 2999, 29}, {"GPU-b", 3000, 30}},
                          {.count = 2, .memory = 3000, .cores = 30}, kCapacities),
            "2999 MiB of GPU-a instead of 3000, 29 % of the cores of GPU-a instead of 30");
  EXPECT_EQ(LessThanAsked(OneOf("GPU-b", 19'999), {.count = 1, .percentage = 50}, kCapacities),
            "19999 MiB of GPU-b instead of 20000");
  EXPECT_EQ(LessThanAsked(OneOf("GPU-a", 3000, 99), {.count = 1, .memory = 3000}, kCapacities),
            "99 % of the cores of GPU-a instead of 100");
}

TEST(LessThanAsked, IsNothingWhereItIsAll) {
  EXPECT_EQ(LessThanAsked(OneOf("GPU-a", 3000, 0), {.count = 1, .memory = 3000}, kCapacities), "");
  EXPECT_EQ(LessThanAsked(OneOf("GPU-a", 3000, 100), {.count = 1, .memory = 3000}, kCapacities),
            "");
}

TEST(Resolve, MemoryIsThatOfTheNextSize) {
  RequestRules rules = Rules();
  rules.sizes = {1000, 4000};
  rules.most_memory = 5000;
  const auto memory = [&](const char* asked) {
    return Resolved({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", asked}}, rules)->memory;
  };
  EXPECT_EQ(memory("1"), 1000);
  EXPECT_EQ(memory("1000"), 1000);
  EXPECT_EQ(memory("1001"), 4000);
  EXPECT_EQ(memory("5000"), 4000);
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "1"}}, rules)->percentage, 100);
  EXPECT_EQ(ResolveError({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "5001"}}, rules),
            "container app asks for 5001 MiB by nvidia.com/gpumem, and no device has more than "
            "5000");
}

TEST(Resolve, WithoutAResourceForMemoryThereIsNoSize) {
  const RequestRules rules{.count_name = "nvidia.com/gpu", .default_memory = 1000};
  EXPECT_EQ(Resolved({{"nvidia.com/gpu", "3"}}, rules), (Request{.count = 3}));
  EXPECT_FALSE(Resolved({{"nvidia.com/gpu", "3"}}, rules)->HasSize());
}

TEST(Resolve, SeveralDevicesAreAsTheRulesHaveThem) {
  RequestRules rules = Rules();
  rules.count_step = 2;
  rules.several_cores = true;
  const auto asked = Resolved({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "30"}}, rules);
  EXPECT_EQ(asked, (Request{.count = 2, .percentage = 100, .cores = 100}));
}

}  // namespace
}  // namespace tessera
