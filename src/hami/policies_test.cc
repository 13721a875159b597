// SPDX-License-Identifier: Apache-2.0
#include "hami/policies.h"

#include <gtest/gtest.h>

#include <string>

#include "hami/names.h"
#include "placement/device_choice.h"

namespace tessera::hami {
namespace {

// A GPU of 10,000 MiB, for ten containers.
struct Gpu {
  int containers = 0;
  int cores = 0;
  int memory = 0;
  int numa = 0;
  std::vector<int64_t> closeness{};
};

struct Case {
  const char* what;
  std::string policy;
  std::vector<Gpu> gpus;
  int count = 1;
  std::string chosen;  // sorted indices; empty: none
  bool numa_bind = false;
  ScoreWeights weights{};
};

std::string Chosen(const Case& one) {
  std::vector<CandidateDevice> devices;
  for (const Gpu& gpu : one.gpus) {
    const auto index = static_cast<uint32_t>(devices.size());
    devices.push_back({.capacity = {std::to_string(index), 10, 10'000, 100},
                       .used = {gpu.containers, gpu.memory, gpu.cores},
                       .index = index,
                       .numa = gpu.numa,
                       .closeness = gpu.closeness});
  }
  const DeviceDemand demand{
      .containers = {{.name = "main", .request = {.count = one.count, .memory = 1000}}},
      .policy = DevicePolicyOf(one.policy, one.numa_bind),
      .weights = one.weights};
  const auto placement = ChooseDevices(demand, devices);
  std::string chosen;
  if (!placement) return chosen;
  for (const Fraction& part : placement->front().parts) chosen += part.device;
  return chosen;
}

void Check(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    EXPECT_EQ(Chosen(one), one.chosen) << one.what << ": " << one.policy;
  }
}

const std::vector<Gpu> kThree = {{2, 20, 2000, 0}, {1, 10, 1000, 0}, {1, 10, 1000, 1}};
const std::vector<Gpu> kNumas = {{0, 0, 0, 0}, {1, 0, 100, 0}, {2, 0, 200, 1}, {3, 0, 300, 1}};
const std::vector<Gpu> kLinks = {{0, 0, 0, 0, {0, 200, 10, 10}},
                                 {0, 0, 0, 0, {200, 0, 10, 10}},
                                 {0, 0, 0, 1, {10, 10, 0, 50}},
                                 {0, 0, 0, 1, {10, 10, 50, 0}}};

TEST(PoliciesTest, OnePolicyChoosesAsHamiDoes) {
  Check({
      {"the emptiest, then the highest NUMA node", "spread", kThree, 3, "210"},
      {"the fullest, then the highest NUMA node", "binpack", kThree, 3, "021"},
      {"an unknown name is spread", "packed", kThree, 3, "210"},
      {"so is none", "", kThree, 3, "210"},
      {"NUMA nodes alone", "numa", {{0}, {0}, {5, 50, 5000, 1}}, 2, "21"},
      {"only GPUs without containers", "mutex", {{1}, {0}, {0}}, 2, "21"},
      {"and none where there is no such", "mutex", {{1}, {0}, {0}}, 3, ""},
      {"memory counts thrice", "binpack", {{5, 0, 1000}, {1, 0, 2500}}, 1, "1", false, {1, 1, 3}},
      {"and once", "binpack", {{5, 0, 1000}, {1, 0, 2500}}, 1, "0"},
  });
}

TEST(PoliciesTest, AListOfPoliciesChoosesAsHamiDoes) {
  Check({
      {"the first decides", "binpack,numa", kThree, 3, "021"},
      {"in the order of the list", "numa,binpack", kThree, 3, "201"},
      {"equals go by index, the highest first", "spread,", {{0, 0, 0, 1}, {0}}, 2, "10"},
      {"each is trimmed", "numa , binpack", kThree, 3, "201"},
      {"unknown ones are passed over", "fast,binpack", kThree, 1, "0"},
      {"without an order it is spread", "mutex,topology-aware", {{1}, {0}, {0}}, 1, "2"},
      {"mutex and an order", "mutex,numa", {{0}, {0, 0, 0, 1}, {1, 0, 0, 2}}, 2, "10"},
  });
}

TEST(PoliciesTest, BindingToOneNumaNodeChoosesAsHamiDoes) {
  Check({
      {"spread begins at the highest", "spread", kNumas, 2, "23", true},
      {"binpack at the lowest", "binpack", kNumas, 2, "10", true},
      {"a list at the highest",
       "binpack,mutex",
       {{0}, {0}, {0, 0, 0, 1}, {0, 0, 0, 1}},
       2,
       "32",
       true},
      {"the next one where there are too few", "spread", {{0}, {0}, {0, 0, 0, 1}}, 2, "10", true},
      {"none where there are too few at each", "spread", {{0}, {0, 0, 0, 1}}, 2, "", true},
      {"mutex", "mutex", {{0}, {0}, {0, 0, 0, 1}, {1, 0, 0, 1}}, 2, "10", true},
  });
}

TEST(PoliciesTest, LinksChooseAsHamiDoes) {
  Check({
      {"the most points", "topology-aware", kLinks, 2, "10"},
      {"in a list", "binpack,topology-aware", kLinks, 2, "10"},
      {"one GPU: the fewest points to others", "topology-aware", kLinks, 1, "3"},
      {"just as many as there are: in order", "topology-aware", kLinks, 4, "3210"},
      {"equals: the first in order", "topology-aware", {{2}, {1}, {0}}, 2, "21"},
  });
}

// The reasons: HAMi 2.10 does not trim a single name (#2854), so it uses spread. Of close GPUs at
// one NUMA node it finds only those of the last node that it checks.
TEST(PoliciesTest, WhereHamiErrsTheChoiceIsAnother) {
  Check({
      {"a name with spaces is the policy", " binpack ", kThree, 1, "0"},
      {"any NUMA node that has enough",
       "topology-aware",
       {{0}, {0, 0, 0, 1}, {0, 0, 0, 1}},
       2,
       "21",
       true},
  });
}

TEST(PoliciesTest, OneNumaNodeIsWantedByWhatGoReadsAsTrue) {
  kube::Pod pod;
  EXPECT_FALSE(WantsOneNuma(pod, kNvidia));
  pod.annotations[std::string(kNumaBind)] = "T";
  EXPECT_TRUE(WantsOneNuma(pod, kNvidia));
  pod.annotations[std::string(kNumaBind)] = "yes";
  EXPECT_FALSE(WantsOneNuma(pod, kNvidia));
}

TEST(PoliciesTest, WeightsAreThreeNumbersInAnyOrder) {
  EXPECT_EQ(ScoreWeightsOf("slot=1,core=2,memory=3"), (ScoreWeights{1, 2, 3}));
  EXPECT_EQ(ScoreWeightsOf(" memory = 3, slot=0 ,core= 0 "), (ScoreWeights{0, 0, 3}));
}

TEST(PoliciesTest, OtherWeightsSayWhatIsWrong) {
  const auto why = [](const char* text) { return ScoreWeightsOf(text).error().message; };
  const std::string hint = "; write weights such as 'slot=1,core=1,memory=3'";
  EXPECT_EQ(why("slot=1,core=1"),
            "hami.io/device-scoring-weights is slot=1,core=1: a weight is missing" + hint);
  EXPECT_EQ(why("slot=1,core=-1,memory=3"),
            "hami.io/device-scoring-weights is slot=1,core=-1,memory=3: a weight is not a whole "
            "number of 0 or more" +
                hint);
  EXPECT_EQ(
      why("slot=1,slot=1,memory=3"),
      "hami.io/device-scoring-weights is slot=1,slot=1,memory=3: a weight is there twice" + hint);
  EXPECT_EQ(
      why("slot=1,speed=1,memory=3"),
      "hami.io/device-scoring-weights is slot=1,speed=1,memory=3: it has an unknown name" + hint);
  EXPECT_EQ(why("slot=0,core=0,memory=0"),
            "hami.io/device-scoring-weights is slot=0,core=0,memory=0: all weights are 0" + hint);
}

}  // namespace
}  // namespace tessera::hami
