// SPDX-License-Identifier: Apache-2.0
#include "backend/kind.h"

#include <gtest/gtest.h>

#include "backend/amd/amd_config.h"
#include "config/told_test.h"

namespace tessera::amd {
namespace {

using namespace config;  // the words of its keys

TEST(AmdKind, AResourceOfAllGpusNeedsNoKey) {
  const Config config = Good("resources: [{name: amd.com/gpu, amd: {}}]\n");
  EXPECT_EQ(*config.resources[0].kind.As<AmdConfig>(), AmdConfig());
}

TEST(AmdKind, AFamilyKnowsItsName) {
  const Config config = Good(
      "resources: [{name: \"amd.com/{profile}\", amd: {ids: uuid, names: index, exclude: "
      "[{address: \"0000:05:00.0\"}]}}]\n");
  EXPECT_EQ(*config.resources[0].kind.As<AmdConfig>(),
            (AmdConfig{.family = "amd.com/{profile}",
                       .exclude = {{"0000:05:00.0"}},
                       .ids = AmdConfig::Ids::kUuid,
                       .names = AmdConfig::Names::kIndex}));
}

TEST(AmdKind, ResourcesOfTwoProfilesAreApart) {
  Good(
      "resources: [{name: amd.com/a, amd: {profile: spx_nps1}}, {name: amd.com/b, amd: {profile: "
      "cpx_nps4}}]\n");
}

TEST(AmdKind, NamesForTheContainerToolkitAreInItsVariable) {
  const Config config = Good("resources: [{name: amd.com/gpu, amd: {names: toolkit}}]\n");
  EXPECT_EQ(config.resources[0].rendering.env, "AMD_VISIBLE_DEVICES");
  EXPECT_EQ(Good("resources: [{name: amd.com/gpu, amd: {}}]\n").resources[0].rendering.env, "");
  Good("resources: [{name: amd.com/gpu, env: AMD_VISIBLE_DEVICES, amd: {names: index}}]\n");
}

const BadInput kBadInputs[] = {
    {"TheContainerToolkitWouldNotKnowTheNames",
     "resources:\n"
     "- {name: amd.com/gpu, env: AMD_VISIBLE_DEVICES, amd: {}}\n",
     "t.yaml:3:28: resources[0].env is read by AMD's container toolkit, which does not know ROCm's "
     "names: set 'names: toolkit' in 'amd' [config-bad-value]\n"
     "- {name: amd.com/gpu, env: AMD_VISIBLE_DEVICES, amd: {}}\n"
     "                           ^\n"},
    {"TwoResourcesHaveTheSameGpus",
     "resources:\n"
     "- {name: amd.com/a, amd: {profile: spx_nps1}}\n"
     "- {name: amd.com/b, amd: {}}\n",
     "t.yaml:4:26: resources[1].amd has devices that resources[0] has as well: give both a "
     "'profile' of their own [config-duplicate]\n"
     "- {name: amd.com/b, amd: {}}\n"
     "                         ^\n"},
    {"TheKindOfCdiIsAmds",
     "resources:\n"
     "- {name: amd.com/gpu, cdi: {kind: amd.com/gpu}, amd: {}}\n",
     "t.yaml:3:35: resources[0].cdi.kind is that of AMD's container toolkit: take another, such as "
     "'tessera.dev/amd-gpu' [config-bad-value]\n"
     "- {name: amd.com/gpu, cdi: {kind: amd.com/gpu}, amd: {}}\n"
     "                                  ^\n"},
};
using AmdKindErrors = BadInputTest;

TEST_P(AmdKindErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, AmdKindErrors, testing::ValuesIn(kBadInputs), NameOf);

}  // namespace
}  // namespace tessera::amd
