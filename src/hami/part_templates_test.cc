// SPDX-License-Identifier: Apache-2.0
#include "hami/part_templates.h"

#include <gtest/gtest.h>

#include "hami/pod_placement.h"
#include "hami/vendor_table.h"
#include "placement/placement_under_test.h"

namespace tessera::hami {
namespace {

constexpr char kDie[] = "42C711D4-20B03704-4A10C8D4-14CC040A-D2102003";
constexpr char kOther[] = "42C711D4-20B03704-4A10C8D4-14CC040A-D2102004";
const std::string kList = "huawei.com/Ascend910B3";

// A pod of one container that asks for so many chips, and for memory of each unless that is 0.
kube::Pod PodOf(int count, int memory, const std::string& allocated, const std::string& list) {
  kube::Container container{.name = "main", .limits = {{kList, std::to_string(count)}}};
  if (memory > 0) container.limits[kList + "-memory"] = std::to_string(memory);
  kube::Pod pod = PodWith({container});
  pod.annotations = {{"hami.io/vgpu-node", "worker-1"},
                     {"hami.io/Ascend910B3-devices-allocated", allocated},
                     {kList, list}};
  return pod;
}

std::string Placed(const kube::Pod& pod) {
  const ServedVendor& row = *AscendRow("Ascend910B3");
  const std::vector<DeviceCapacity> capacities = {
      {.device = kDie, .containers = 4, .memory = 65'536, .cores = 100},
      {.device = kOther, .containers = 4, .memory = 65'536, .cores = 100}};
  return PlacementText(ReadPlacement(pod, *row.vendor, row.rules, capacities));
}

std::string Part(const std::string& device, int memory) {
  return fmt::format("{},Ascend910B3,{},0:", device, memory);
}

std::string Named(const std::string& device, const std::string& name) {
  return name.empty() ? fmt::format(R"({{"UUID":"{}"}})", device)
                      : fmt::format(R"({{"UUID":"{}","temp":"{}"}})", device, name);
}

TEST(PartTemplates, APartIsARequestRoundedUpToATemplate) {
  EXPECT_EQ(
      Placed(PodOf(1, 10'000, Part(kDie, 16'384) + ";", "[" + Named(kDie, "vir05_1c_16g") + "]")),
      std::string("main: ") + kDie + "=16384:0;");
}

TEST(PartTemplates, SeveralChipsAreWholeAndHaveNone) {
  EXPECT_EQ(Placed(PodOf(2, 0, Part(kOther, 65'536) + Part(kDie, 65'536) + ";",
                         "[" + Named(kOther, "") + "," + Named(kDie, "") + "]")),
            std::string("main: ") + kOther + "=65536:0," + kDie + "=65536:0;");
}

TEST(PartTemplates, APartBesideAnotherChipIsRefused) {
  EXPECT_EQ(
      Placed(PodOf(2, 16'384, Part(kOther, 16'384) + Part(kDie, 16'384) + ";",
                   "[" + Named(kOther, "vir05_1c_16g") + "," + Named(kDie, "vir05_1c_16g") + "]")),
      std::string("bad-decision: pod team/train: its placement does not match its request: a "
                  "container has 16384 MiB of ") +
          kOther + " and other devices: each of several has to be whole");
}

TEST(PartTemplates, WhatIsWrongIsRefusedWithWhatToDo) {
  const std::string bad =
      "bad-decision: pod team/train: its placement does not match its request: ";
  const std::string quarter = Part(kDie, 16'384) + ";";
  EXPECT_EQ(Placed(PodOf(1, 10'000, quarter, "[" + Named(kDie, "vir10_3c_32g") + "]")),
            bad + "huawei.com/Ascend910B3 names template vir10_3c_32g for 16384 MiB of " + kDie +
                ", which is template vir05_1c_16g: correct the scheduler's templates");
  EXPECT_EQ(Placed(PodOf(1, 10'000, quarter, "[" + Named(kDie, "") + "]")),
            bad + "huawei.com/Ascend910B3 names a whole device for 16384 MiB of " + kDie +
                ", which is template vir05_1c_16g: correct the scheduler's templates");
  EXPECT_EQ(Placed(PodOf(1, 10'000, quarter, "[" + Named(kOther, "vir05_1c_16g") + "]")),
            bad + "huawei.com/Ascend910B3 does not name " + kDie + ": place the pod again");
  EXPECT_EQ(Placed(PodOf(1, 10'000, quarter,
                         "[" + Named(kDie, "vir05_1c_16g") + "," + Named(kOther, "") + "]")),
            bad + "huawei.com/Ascend910B3 names " + kOther +
                ", which no container has: place the pod again");
  EXPECT_EQ(Placed(PodOf(1, 10'000, quarter, "")),
            bad +
                "it has no annotation huawei.com/Ascend910B3: a scheduler that knows Ascend910B3 "
                "has to place the pod");
  EXPECT_EQ(Placed(PodOf(1, 10'000, Part(kDie, 9'000) + ";", "[" + Named(kDie, "vir05") + "]")),
            bad + "9000 MiB of " + kDie +
                " is no size of Ascend910B3, which has 16384 (vir05_1c_16g), 32768 (vir10_3c_32g) "
                "and 65536 (whole): give the scheduler these templates");
}

TEST(PartTemplates, HamisLimiterIsRefusedByName) {
  const std::string list = fmt::format(R"([{{"UUID":"{}","memory":16384,"core":25}}])", kDie);
  EXPECT_EQ(Placed(PodOf(1, 10'000, Part(kDie, 16'384) + ";", list)),
            "bad-decision: pod team/train: its placement does not match its request: "
            "huawei.com/Ascend910B3 asks for HAMi's limiter, which this node does not have: remove "
            "huawei.com/vnpu-mode from the pod");
}

TEST(PartTemplates, AListThatIsNoneIsRefused) {
  for (const char* list : {"{}", "[7]", "x", R"([{"UUID":7}])"}) {
    const std::string told = Placed(PodOf(1, 10'000, Part(kDie, 16'384) + ";", list));
    EXPECT_TRUE(told.starts_with("bad-decision: pod team/train: ")) << told;
    EXPECT_NE(told.find("huawei.com/Ascend910B3: "), std::string::npos) << told;
  }
}

TEST(PartTemplates, AChipOfAnotherNodeIsRefused) {
  const std::string die = "00000001-00000002-00000003-00000004-00000005";
  EXPECT_EQ(
      Placed(PodOf(1, 10'000, Part(die, 16'384) + ";", "[" + Named(die, "vir05_1c_16g") + "]")),
      "bad-decision: pod team/train, container main: its placement does not match its "
      "request: " +
          die + " is not a card of this node");
}

}  // namespace
}  // namespace tessera::hami
