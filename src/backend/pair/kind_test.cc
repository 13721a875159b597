// SPDX-License-Identifier: Apache-2.0
#include "backend/kind.h"

#include <gtest/gtest.h>

#include "backend/pair/pair_config.h"
#include "config/told_test.h"

namespace tessera::pair {
namespace {

using namespace config;  // the words of its keys

TEST(PairKind, ItsPartsAreResourcesOrMembersOfFamilies) {
  const Config config = Good(
      "resources:\n"
      "- {name: amd.com/gpu-nic, pair: {gpu: amd.com/cpx_nps1, nic: a.com/nic}}\n"
      "- {name: \"amd.com/{profile}\", amd: {}}\n"
      "- {name: a.com/nic, dummy: {}}\n");

  EXPECT_EQ(*config.resources[0].kind.As<PairConfig>(),
            (PairConfig{.gpu = "amd.com/cpx_nps1", .nic = "a.com/nic"}));
  EXPECT_EQ(config.resources[0].rendering.env, "");
}

TEST(PairKind, AnIdSaysWhatThePartsMayBe) {
  const Config config = Good(
      "resources:\n"
      "- {name: a.com/both, pair: {gpu: a.com/gpu, nic: a.com/nic}}\n"
      "- {name: a.com/gpu, dummy: {}}\n"
      "- {name: a.com/nic, env: NICS, dummy: {}}\n");
  const Resource& pair = config.resources[0];

  EXPECT_EQ(KindOf(pair)->parts_of(pair, "GPU-8a_0000:05:00.0"),
            (std::vector<DeviceKey>{{"a.com/gpu", "GPU-8a"}, {"a.com/nic", "0000:05:00.0"}}));
  EXPECT_EQ(
      KindOf(pair)->parts_of(pair, "a_b_c"),
      (std::vector<DeviceKey>{
          {"a.com/gpu", "a"}, {"a.com/nic", "b_c"}, {"a.com/gpu", "a_b"}, {"a.com/nic", "c"}}));
  EXPECT_EQ(KindOf(pair)->parts_of(pair, "GPU-8a"), std::vector<DeviceKey>());
}

const BadInput kBadInputs[] = {
    {"APartIsNoResource",
     "resources:\n"
     "- {name: a.com/pair, pair: {gpu: a.com/gpu, nic: a.com/nic}}\n"
     "- {name: a.com/nic, dummy: {}}\n",
     "t.yaml:3:34: resources[0].pair.gpu names 'a.com/gpu', which is no resource of this "
     "configuration [config-bad-value]\n"
     "- {name: a.com/pair, pair: {gpu: a.com/gpu, nic: a.com/nic}}\n"
     "                                 ^\n"},
    {"APartIsAPair",
     "resources:\n"
     "- {name: a.com/pair, pair: {gpu: a.com/pair, nic: a.com/nic}}\n"
     "- {name: a.com/nic, dummy: {}}\n",
     "t.yaml:3:34: resources[0].pair.gpu names 'a.com/pair', whose devices are pairs themselves "
     "[config-bad-value]\n"
     "- {name: a.com/pair, pair: {gpu: a.com/pair, nic: a.com/nic}}\n"
     "                                 ^\n"},
    {"APartIsPreparedForEachGrant",
     "resources:\n"
     "- {name: a.com/pair, pair: {gpu: a.com/gpu, nic: a.com/region}}\n"
     "- {name: a.com/gpu, dummy: {}}\n"
     "- {name: a.com/region, strategies: [cdi-cri], cdi: {kind: tessera.dev/region}, "
     "fpga: {vendor: intel, mode: region}}\n",
     "t.yaml:3:50: resources[0].pair.nic names 'a.com/region', whose devices are prepared for each "
     "grant, which pairs are not [config-bad-value]\n"
     "- {name: a.com/pair, pair: {gpu: a.com/gpu, nic: a.com/region}}\n"
     "                                                 ^\n"},
    {"APartIsDividedByTheDriver",
     "resources:\n"
     "- {name: a.com/pair, pair: {gpu: nvidia.com/gpu, nic: a.com/nic}}\n"
     "- {name: nvidia.com/gpu, policy: mps, replicas: 2, nvidia: {}}\n"
     "- {name: a.com/nic, dummy: {}}\n",
     "t.yaml:3:34: resources[0].pair.gpu names 'nvidia.com/gpu', whose devices are divided by "
     "'policy: mps': pairs have whole GPUs [config-bad-value]\n"
     "- {name: a.com/pair, pair: {gpu: nvidia.com/gpu, nic: a.com/nic}}\n"
     "                                 ^\n"},
    {"BothPartsAreOneResource",
     "resources:\n"
     "- {name: a.com/pair, pair: {gpu: a.com/nic, nic: a.com/nic}}\n"
     "- {name: a.com/nic, dummy: {}}\n",
     "t.yaml:3:50: resources[0].pair.nic names the resource of 'gpu' [config-duplicate]\n"
     "- {name: a.com/pair, pair: {gpu: a.com/nic, nic: a.com/nic}}\n"
     "                                                 ^\n"},
    {"TheDriversFilesOfAPartAreLookedUpForCdiAlone",
     "resources:\n"
     "- {name: a.com/pair, strategies: [cdi-cri], cdi: {kind: a.com/xy}, pair: {gpu: "
     "nvidia.com/gpu, "
     "nic: a.com/nic}}\n"
     "- {name: nvidia.com/gpu, nvidia: {}}\n"
     "- {name: a.com/nic, dummy: {}}\n",
     "t.yaml:3:80: resources[0].pair.gpu names 'nvidia.com/gpu', whose driver's files the agent "
     "looks up only for CDI: give that resource a CDI strategy as well, such as 'strategies: "
     "[cdi-cri]' [config-bad-value]\n"
     "- {name: a.com/pair, strategies: [cdi-cri], cdi: {kind: a.com/xy}, pair: {gpu: "
     "nvidia.com/gpu, "
     "nic: a.com/nic}}\n"
     "                                                                               ^\n"},
};
using PairKindErrors = BadInputTest;

TEST_P(PairKindErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, PairKindErrors, testing::ValuesIn(kBadInputs), NameOf);

}  // namespace
}  // namespace tessera::pair
