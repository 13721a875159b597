// SPDX-License-Identifier: Apache-2.0
#include "placement/asked_sizes.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "base/quote.h"

namespace tessera {
namespace {

class AskedSizesTest : public testing::Test {
 protected:
  // The request of container main, "COUNT: MEMORY MiB PERCENTAGE % CORES", or the error.
  std::string Main() const {
    const auto request = ResolveSizes(pod_, main_, rules_);
    if (!request) return request.error().message;
    if (!*request) return "nothing";
    return fmt::format("{}: {} MiB {} % {}", (*request)->count, (*request)->memory,
                       (*request)->percentage, (*request)->cores);
  }
  std::string With(const std::string& key, const std::string& value) {
    kube::Pod pod = pod_;
    pod_.annotations["tessera.dev/gpu-" + key] = value;
    std::string said = Main();
    pod_ = pod;
    return said;
  }

  RequestRules rules_{.count_name = "nvidia.com/gpu",
                      .memory_name = "nvidia.com/gpumem",
                      .percentage_name = "nvidia.com/gpumem-percentage",
                      .cores_name = "nvidia.com/gpucores"};
  kube::Pod pod_{.containers = {{.name = "main"}, {.name = "beside"}}};
  kube::Container main_{.name = "main", .limits = {{"nvidia.com/gpu", "1"}}};
};

TEST_F(AskedSizesTest, WithoutAnnotationsItIsWhatTheLimitsSay) {
  EXPECT_EQ(Main(), "1: 0 MiB 100 % 0");
  main_.limits["nvidia.com/gpumem"] = "3000";
  main_.limits["nvidia.com/gpucores"] = "30";
  EXPECT_EQ(Main(), "1: 3000 MiB 0 % 30");
  main_.limits.erase("nvidia.com/gpu");
  EXPECT_EQ(With("memory", "many"), "nothing");
}

TEST_F(AskedSizesTest, AnnotationsSayItForAllContainersOrForOne) {
  pod_.annotations = {{"tessera.dev/gpu-memory", "3000"}, {"tessera.dev/gpu-cores", "30"}};
  EXPECT_EQ(Main(), "1: 3000 MiB 0 % 30");
  EXPECT_EQ(With("memory.main", "4000"), "1: 4000 MiB 0 % 30");
  EXPECT_EQ(With("memory-percentage.main", "25"), "1: 0 MiB 25 % 30");
  EXPECT_EQ(With("cores.main", "0"), "1: 3000 MiB 0 % 0");
  EXPECT_EQ(With("memory.beside", "4000"), "1: 3000 MiB 0 % 30");
}

TEST_F(AskedSizesTest, WhatNoneSaysIsAsTheConfigurationHasIt) {
  rules_.default_memory = 500;
  rules_.default_cores = 10;
  EXPECT_EQ(With("cores", "30"), "1: 500 MiB 0 % 30");
  EXPECT_EQ(With("memory-percentage", "30"), "1: 0 MiB 30 % 10");
}

TEST_F(AskedSizesTest, MemoryIsInMibOrHasAUnitAndNoFactor) {
  rules_.memory_factor = 1024;
  EXPECT_EQ(With("memory", "3000"), "1: 3000 MiB 0 % 0");
  EXPECT_EQ(With("memory", "3000Mi"), "1: 3000 MiB 0 % 0");
  EXPECT_EQ(With("memory", "1.5Gi"), "1: 1536 MiB 0 % 0");
  EXPECT_EQ(With("memory", "1Ti"), "1: 1048576 MiB 0 % 0");
}

TEST_F(AskedSizesTest, ALimitCountsBeforeAnAnnotationOfThePod) {
  main_.limits["nvidia.com/gpumem-percentage"] = "50";
  EXPECT_EQ(With("memory", "3000"), "1: 0 MiB 50 % 0");
  EXPECT_EQ(With("cores", "20"), "1: 0 MiB 50 % 20");
  main_.limits["nvidia.com/gpucores"] = "30";
  EXPECT_EQ(With("cores", "20"), "1: 0 MiB 50 % 30");
}

TEST_F(AskedSizesTest, WhatIsSaidTwiceOfAContainerIsToBeTheSame) {
  main_.limits["nvidia.com/gpumem"] = "3000";
  main_.limits["nvidia.com/gpucores"] = "30";
  EXPECT_EQ(With("memory.main", "3000Mi"), "1: 3000 MiB 0 % 30");
  EXPECT_EQ(With("cores.main", "30"), "1: 3000 MiB 0 % 30");
  const std::string sizes =
      "its limits and the annotations that end with .main set different sizes; remove one of them";
  EXPECT_EQ(With("memory.main", "3001"), sizes);
  EXPECT_EQ(With("memory-percentage.main", "50"), sizes);
  EXPECT_EQ(With("cores.main", "31"),
            "its limits and the annotations that end with .main set different compute times; "
            "remove one of them");
}

TEST_F(AskedSizesTest, MemoryAndAPercentageOfItAreTheSameInTwoWays) {
  pod_.annotations["tessera.dev/gpu-memory.main"] = "3000";
  EXPECT_EQ(With("memory-percentage.main", "50"),
            "annotations tessera.dev/gpu-memory.main and tessera.dev/gpu-memory-percentage.main "
            "both set the memory; remove one");
}

TEST_F(AskedSizesTest, WhatIsNoSizeIsRefusedWithWhatToWrite) {
  for (const char* bad : {"0", "", "3000MB", "3G", "3k", "-1", "0.1Mi", "2147483648", "3 Gi",
                          "99999999999999999999", "1e3", "+5"}) {
    EXPECT_EQ(
        With("memory.main", bad),
        fmt::format("annotation tessera.dev/gpu-memory.main is {}: write how many MiB of each "
                    "GPU, '3000', or a size with its unit, '3000Mi' or '3Gi'",
                    Brief(bad)));
  }
  for (const char* bad : {"0", "101", "50%", "", "half", "-1"}) {
    EXPECT_EQ(
        With("memory-percentage", bad),
        fmt::format("annotation tessera.dev/gpu-memory-percentage is {}: write a percentage, a "
                    "number from 1 to 100",
                    Brief(bad)));
  }
  EXPECT_EQ(With("cores", "101"),
            "annotation tessera.dev/gpu-cores is 101: write a percentage, a number from 0 to 100");
}

TEST_F(AskedSizesTest, OneThatIsMistypedIsNotPassedOver) {
  EXPECT_EQ(With("mem", "3000"),
            "annotation tessera.dev/gpu-mem is unknown; the known ones are tessera.dev/gpu-memory, "
            "tessera.dev/gpu-memory-percentage and tessera.dev/gpu-cores");
  EXPECT_EQ(With("memory.nobody", "3000"),
            "annotation tessera.dev/gpu-memory.nobody: the pod has no container nobody");
  EXPECT_EQ(With("memory.", "3000"),
            "annotation tessera.dev/gpu-memory.: the pod has no container \"\"");
}

}  // namespace
}  // namespace tessera
