// SPDX-License-Identifier: Apache-2.0
#include "backend/kind.h"

#include <gtest/gtest.h>

#include "backend/ascend/ascend_config.h"
#include "config/told_test.h"

namespace tessera::ascend {
namespace {

using namespace config;  // the words of its keys

TEST(AscendKind, AResourceOfAllChipsNeedsNoKey) {
  const Config config = Good("resources: [{name: huawei.com/npu, ascend: {}}]\n");
  EXPECT_EQ(*config.resources[0].kind.As<AscendConfig>(), AscendConfig());
  EXPECT_EQ(config.resources[0].rendering.env, "");
  EXPECT_FALSE(Prepares(*KindOf(config.resources[0]), config.resources[0]));
}

TEST(AscendKind, AFamilyKnowsItsName) {
  const Config config = Good("resources: [{name: \"huawei.com/{profile}\", ascend: {}}]\n");
  EXPECT_EQ(*config.resources[0].kind.As<AscendConfig>(),
            (AscendConfig{.family = "huawei.com/{profile}"}));
}

TEST(AscendKind, ARuntimeIsToldTheChipsByItsVariable) {
  const Config config = Good(
      "resources:\n"
      "- {name: huawei.com/Ascend910B3, ascend: {mode: runtime, profile: Ascend910B3}}\n"
      "- {name: huawei.com/vnpu, ascend: {mode: runtime, static: true}}\n");
  EXPECT_EQ(config.resources[0].rendering.env, "ASCEND_VISIBLE_DEVICES");
  EXPECT_EQ(config.resources[0].rendering.envs, (std::map<std::string, std::string>()));
  EXPECT_EQ(config.resources[1].rendering.env, "ASCEND_VISIBLE_DEVICES");
  EXPECT_EQ(config.resources[1].rendering.envs,
            (std::map<std::string, std::string>{{"ASCEND_RUNTIME_OPTIONS", "VIRTUAL"}}));
  const Kind& kind = *KindOf(config.resources[0]);
  EXPECT_EQ(kind.node->NeedsOf(config.resources[0]).front().name, "ascend");
}

TEST(AscendKind, ATemplateIsPreparedForEachGrant) {
  const Config config = Good(
      "resources:\n"
      "- {name: huawei.com/npu, ascend: {}}\n"
      "- name: huawei.com/quarter\n"
      "  strategies: [cdi-cri]\n"
      "  cdi: {kind: tessera.dev/quarter}\n"
      "  ascend: {template: vir05_1c_16g}\n");
  EXPECT_TRUE(Prepares(*KindOf(config.resources[1]), config.resources[1]));
}

TEST(AscendKind, ResourcesOfTwoModelsOrTemplatesAreApart) {
  Good(
      "resources:\n"
      "- {name: huawei.com/a, ascend: {static: true, profile: Ascend910B4}}\n"
      "- {name: huawei.com/b, ascend: {static: true, profile: Ascend910B4-1}}\n"
      "- {name: huawei.com/c, ascend: {static: true, profile: Ascend310P-vir01}}\n"
      "- {name: huawei.com/d, ascend: {static: true, profile: Ascend310P, template: vir02}}\n"
      "- {name: huawei.com/e, ascend: {}}\n");
}

const BadInput kBadInputs[] = {
    {"TwoResourcesHaveTheSameVnpus",
     "resources:\n"
     "- {name: huawei.com/a, ascend: {static: true, profile: Ascend310P-vir01}}\n"
     "- {name: huawei.com/b, ascend: {static: true, profile: Ascend310P}}\n",
     "t.yaml:4:32: resources[1].ascend has devices that resources[0] has as well: give both a "
     "'profile' of their own [config-duplicate]\n"
     "- {name: huawei.com/b, ascend: {static: true, profile: Ascend310P}}\n"
     "                               ^\n"},
    {"TwoResourcesHaveTheSameChips",
     "resources:\n"
     "- {name: huawei.com/a, ascend: {profile: Ascend910B3}}\n"
     "- {name: huawei.com/b, ascend: {}}\n",
     "t.yaml:4:32: resources[1].ascend has devices that resources[0] has as well: give both a "
     "'profile' of their own [config-duplicate]\n"
     "- {name: huawei.com/b, ascend: {}}\n"
     "                               ^\n"},
    {"HamisLimiterIsAskedFor",
     "resources:\n"
     "- {name: huawei.com/a, ascend: {mode: hami-core}}\n",
     "t.yaml:3:39: resources[0].ascend.mode needs HAMi's library for Ascend, which the agent does "
     "not have: give containers vNPUs by 'template' [config-bad-value]\n"
     "- {name: huawei.com/a, ascend: {mode: hami-core}}\n"
     "                                      ^\n"},
    {"TheTemplateIsNone",
     "resources:\n"
     "- {name: huawei.com/a, ascend: {static: true, template: half}}\n",
     "t.yaml:3:57: resources[0].ascend.template is no template of vNPUs, such as 'vir05_1c_16g' "
     "[config-bad-value]\n"
     "- {name: huawei.com/a, ascend: {static: true, template: half}}\n"
     "                                                        ^\n"},
    {"TheVariableOfAVnpuWouldNameAChip",
     "resources:\n"
     "- {name: huawei.com/a, env: ASCEND_VISIBLE_DEVICES, ascend: {static: true}}\n",
     "t.yaml:3:29: resources[0].env cannot be ASCEND_VISIBLE_DEVICES: where ascend-docker-runtime "
     "is, it would give a container of a vNPU a whole chip [config-bad-value]\n"
     "- {name: huawei.com/a, env: ASCEND_VISIBLE_DEVICES, ascend: {static: true}}\n"
     "                            ^\n"},
    {"TheKindOfCdiIsHuaweis",
     "resources:\n"
     "- {name: huawei.com/a, cdi: {kind: ascend.com/npu}, ascend: {}}\n",
     "t.yaml:3:36: resources[0].cdi.kind is that of Huawei's CDI documents: take another, such as "
     "'tessera.dev/ascend-npu' [config-bad-value]\n"
     "- {name: huawei.com/a, cdi: {kind: ascend.com/npu}, ascend: {}}\n"
     "                                   ^\n"},
};
using AscendKindErrors = BadInputTest;

TEST_P(AscendKindErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, AscendKindErrors, testing::ValuesIn(kBadInputs), NameOf);

}  // namespace
}  // namespace tessera::ascend
