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
            "container c asks for a.io/mem and a.io/percent, which say the same in two ways: leave "
            "out one");
}

TEST(CheckRequest, PartsOfNoDeviceContradictThemselves) {
  EXPECT_EQ(AmountError({{"a.io/gpu", "0"}, {"a.io/mem", "3000"}}),
            "container c asks for parts of 0 of a.io/gpu: write how many, or leave out the parts");
  EXPECT_EQ(AmountError({{"a.io/gpu", "0"}, {"a.io/mem", "0"}}), "");
}

TEST(CheckRequest, RequestsAreLikeTheirLimits) {
  EXPECT_EQ(AmountError({{"a.io/mem", "3k"}}, SomeRules(), {{"a.io/mem", "3000"}}), "");
  EXPECT_EQ(AmountError({{"a.io/mem", "3000"}}, SomeRules(), {{"a.io/mem", "4000"}}),
            "container c has 3000 of a.io/mem in its limits and 4000 in its requests: write the "
            "same, or the limit alone");
  EXPECT_EQ(AmountError({}, SomeRules(), {{"a.io/mem", "3000"}}),
            "container c has a.io/mem in its requests alone: write it into its limits");
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

}  // namespace
}  // namespace tessera
