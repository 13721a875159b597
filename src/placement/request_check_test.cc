// SPDX-License-Identifier: Apache-2.0
#include "placement/request_check.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

RequestRules SomeRules(int32_t factor = 1) {
  return {.count_name = "a.io/gpu",
          .memory_name = "a.io/mem",
          .percentage_name = "a.io/percent",
          .cores_name = "a.io/cores",
          .memory_factor = factor};
}

std::string AmountError(const kube::Texts& limits, const RequestRules& rules = SomeRules(),
                        const kube::Texts& requests = {}) {
  const auto checked = CheckRequest({.name = "c", .limits = limits, .requests = requests}, rules);
  return checked ? "" : checked.error().message;
}

constexpr char kHowManyMib[] =
    "write how many MiB of each device, a whole number from 0 to 2147483647";

TEST(CheckRequest, AmountsThatCanBeMeantAreGood) {
  EXPECT_EQ(AmountError({}), "");
  EXPECT_EQ(AmountError({{"a.io/gpu", "2"}, {"a.io/mem", "3k"}, {"a.io/cores", "100"}}), "");
  EXPECT_EQ(AmountError({{"a.io/mem", "2147483647"}}), "");
  EXPECT_EQ(AmountError({{"a.io/percent", "100"}, {"a.io/mem", "0"}}), "");
}

TEST(CheckRequest, MemoryInBytesIsRefusedWithWhatIsMeant) {
  EXPECT_EQ(AmountError({{"a.io/mem", "16Gi"}}),
            std::string("container c asks for 16Gi of a.io/mem: ") + kHowManyMib +
                " without a unit, such as 16384");
  EXPECT_EQ(AmountError({{"a.io/mem", "3000Mi"}}),
            std::string("container c asks for 3000Mi of a.io/mem: ") + kHowManyMib +
                " without a unit, such as 3000");
  EXPECT_EQ(AmountError({{"a.io/mem", "1Gi"}}),
            std::string("container c asks for 1Gi of a.io/mem: ") + kHowManyMib +
                " without a unit, such as 1024");
  EXPECT_EQ(AmountError({{"a.io/mem", "1G"}}),
            std::string("container c asks for 1G of a.io/mem: ") + kHowManyMib +
                " without a unit, such as 954");
}

TEST(CheckRequest, MemoryThatCountsOtherwiseIsSaidSo) {
  EXPECT_EQ(AmountError({{"a.io/mem", "1Gi"}}, SomeRules(256)),
            "container c asks for 1Gi of a.io/mem: write how many times 256 MiB of each device, a "
            "whole number from 0 to 8388607 without a unit, such as 4");
  EXPECT_EQ(AmountError({{"a.io/mem", "8388607"}}, SomeRules(256)), "");
  EXPECT_NE(AmountError({{"a.io/mem", "8388608"}}, SomeRules(256)), "");
}

TEST(CheckRequest, FractionsNegativeAndTooLargeAmountsAreRefusedByName) {
  for (const char* text : {"500m", "-1", "2147483648", "1e30", "many"}) {
    EXPECT_EQ(AmountError({{"a.io/mem", text}}),
              fmt::format("container c asks for {} of a.io/mem: {}", text, kHowManyMib));
    EXPECT_EQ(AmountError({{"a.io/gpu", text}}),
              fmt::format("container c asks for {} of a.io/gpu: write how many devices, a whole "
                          "number from 0 to 2147483647",
                          text));
  }
}

TEST(CheckRequest, PercentagesEndAtAHundred) {
  EXPECT_EQ(AmountError({{"a.io/cores", "101"}}),
            "container c asks for 101 of a.io/cores: write a percentage of each device's compute "
            "time, a whole number from 0 to 100");
  EXPECT_EQ(AmountError({{"a.io/percent", "101"}}),
            "container c asks for 101 of a.io/percent: write a percentage of each device's memory, "
            "a whole number from 0 to 100");
}

TEST(CheckRequest, TwoSizesContradictEachOther) {
  EXPECT_EQ(AmountError({{"a.io/mem", "3000"}, {"a.io/percent", "50"}}),
            "container c asks for a.io/mem and a.io/percent, which set the same; remove one");
}

TEST(CheckRequest, PartsOfNoDeviceContradictThemselves) {
  EXPECT_EQ(AmountError({{"a.io/gpu", "0"}, {"a.io/mem", "3000"}}),
            "container c asks for parts of 0 of a.io/gpu: write how many, or leave out the parts");
  EXPECT_EQ(AmountError({{"a.io/gpu", "0"}, {"a.io/mem", "0"}}), "");
}

TEST(CheckRequest, RequestsAreLikeTheirLimits) {
  EXPECT_EQ(AmountError({{"a.io/mem", "3k"}}, SomeRules(), {{"a.io/mem", "3000"}}), "");
  EXPECT_EQ(AmountError({{"a.io/mem", "3000"}}, SomeRules(), {{"a.io/mem", "4000"}}),
            "container c has 3000 of a.io/mem in its limits and 4000 in its requests; make them "
            "equal, or set only the limit");
  EXPECT_EQ(AmountError({}, SomeRules(), {{"a.io/mem", "3000"}}),
            "container c has a.io/mem only in its requests; put it into its limits");
}

TEST(AsksForAny, NothingIsAskedWithNothingOrWithZeros) {
  EXPECT_FALSE(AsksForAny({.name = "c", .limits = {{"cpu", "1"}}}, SomeRules()));
  EXPECT_FALSE(AsksForAny({.name = "c", .limits = {{"a.io/gpu", "0"}}}, SomeRules()));
  EXPECT_TRUE(AsksForAny({.name = "c", .limits = {{"a.io/cores", "1"}}}, SomeRules()));
}

TEST(AsksForAny, AnAmountThatCannotBeMeantIsAsked) {
  EXPECT_TRUE(AsksForAny({.name = "c", .limits = {{"a.io/mem", "500m"}}}, SomeRules()));
  EXPECT_TRUE(AsksForAny({.name = "c", .requests = {{"a.io/gpu", "-1"}}}, SomeRules()));
}

TEST(CheckRequest, DevicesThatGoTogetherAreAskedForByMultiples) {
  RequestRules rules = SomeRules();
  rules.count_step = 2;
  EXPECT_EQ(AmountError({{"a.io/gpu", "1"}}, rules), "");
  EXPECT_EQ(AmountError({{"a.io/gpu", "4"}}, rules), "");
  EXPECT_EQ(AmountError({{"a.io/gpu", "5"}}, rules),
            "container c asks for 5 of a.io/gpu, which are granted in groups of 2; write a "
            "multiple of that");
}

TEST(CheckRequest, SeveralDevicesWithSizesAreWholes) {
  RequestRules rules = SomeRules(10);
  rules.sizes = {100, 200};
  rules.most_memory = 250;
  rules.several_whole = true;
  EXPECT_EQ(AmountError({{"a.io/gpu", "1"}, {"a.io/mem", "1"}}, rules), "");
  EXPECT_EQ(AmountError({{"a.io/gpu", "2"}, {"a.io/mem", "11"}}, rules), "");
  EXPECT_EQ(AmountError({{"a.io/gpu", "2"}}, rules), "");
  EXPECT_EQ(AmountError({{"a.io/gpu", "2"}, {"a.io/mem", "10"}}, rules),
            "container c asks for 2 of a.io/gpu and for a part of each by a.io/mem; several "
            "devices are granted whole only, so ask for one or leave out the part");
  EXPECT_EQ(AmountError({{"a.io/gpu", "1"}, {"a.io/mem", "26"}}, rules),
            "container c asks for 26 of a.io/mem: write how many times 10 MiB of each device, a "
            "whole number from 0 to 25");
}

TEST(CheckRequest, CoresAreThoseThatTheRulesHave) {
  RequestRules rules = SomeRules();
  rules.several_cores = true;
  EXPECT_EQ(AmountError({{"a.io/gpu", "1"}, {"a.io/cores", "30"}}, rules), "");
  EXPECT_EQ(AmountError({{"a.io/gpu", "3"}, {"a.io/cores", "300"}}, rules), "");
  EXPECT_EQ(
      AmountError({{"a.io/gpu", "3"}, {"a.io/cores", "30"}}, rules),
      "container c asks for 30 of a.io/cores and for 3 whole devices; write 300, or leave it out");
  rules.cores_need = "a word";
  EXPECT_EQ(AmountError({{"a.io/gpu", "1"}, {"a.io/cores", "30"}}, rules),
            "container c asks for a.io/cores, which needs a word: add that, or leave it out");
}

TEST(RulesAskedBy, AreThoseOfTheOnlyDevicesThatContainersAskFor) {
  const RequestRules one{.count_name = "a.io/gpu", .memory_name = "a.io/mem"};
  const RequestRules other{.count_name = "b.io/gpu"};
  const std::vector<const RequestRules*> rules{&one, &other};
  const auto asked = [&](const std::vector<kube::Container>& containers) {
    std::vector<const kube::Container*> all;
    for (const kube::Container& container : containers) all.push_back(&container);
    return RulesAskedBy(all, rules);
  };
  const kube::Container none{.name = "none", .limits = {{"a.io/gpu", "0"}}};
  const kube::Container memory{.name = "m", .limits = {{"a.io/mem", "1Q"}}};
  const kube::Container second{.name = "s", .requests = {{"b.io/gpu", "1"}}};
  EXPECT_EQ(asked({none}).value(), std::nullopt);
  EXPECT_EQ(asked({none, second, second}).value(), 1U);
  EXPECT_EQ(asked({memory}).value(), 0U);
  EXPECT_EQ(asked({second, memory}).error().message,
            "container m asks for a.io/mem, and container s for b.io/gpu: no node has devices of "
            "both; make a pod for each");
}

}  // namespace
}  // namespace tessera
