// SPDX-License-Identifier: Apache-2.0
#include "config/rules.h"

#include <gtest/gtest.h>

#include "backend/kind.h"
#include "config/told_test.h"

namespace tessera::config {
namespace {

TEST(Rules, OneVariableInTwoResourcesIsFineWhereOnlyOneUsesIt) {
  Good(
      "resources:\n"
      "- {name: dummy.com/a, dummy: }\n"
      "- {name: dummy.com/b, dummy: , strategies: [device-specs]}\n");
}

const BadInput kBrokenRules[] = {
    {"TheHoldIsLongerThanItsLimit", "health: {hold: 2h}\n",
     "t.yaml:2:16: health.hold does not fit: 'hold' (2h) is longer than 'holdLimit' (30m) "
     "[config-bad-value]\n"
     "health: {hold: 2h}\n"
     "               ^\n"},
    {"ChecksCannotKeepUp", "health: {staleAfter: 6s}\n",
     "t.yaml:2:22: health.staleAfter does not fit: 'checkInterval' and 'checkTimeout' together "
     "(7s) are longer than 'staleAfter' (6s), so every device would be unhealthy between two "
     "checks [config-bad-value]\n"
     "health: {staleAfter: 6s}\n"
     "                     ^\n"},
    {"TwoResourcesHaveOneName",
     "resources:\n"
     "- {name: dummy.com/npu, dummy: }\n"
     "- {name: dummy.com/npu, env: X, dummy: }\n",
     "t.yaml:4:10: resources[1].name 'dummy.com/npu' is already that of resources[0] "
     "[config-duplicate]\n"
     "- {name: dummy.com/npu, env: X, dummy: }\n"
     "         ^\n"},
    {"TwoResourcesHaveOneNameAndItsVariable",
     "resources:\n"
     "- {name: dummy.com/npu, dummy: }\n"
     "- {name: dummy.com/npu, dummy: }\n",
     "t.yaml:4:10: resources[1].name 'dummy.com/npu' is already that of resources[0] "
     "[config-duplicate]\n"
     "- {name: dummy.com/npu, dummy: }\n"
     "         ^\n"},
    {"TwoResourcesHaveOneVariable",
     "resources:\n"
     "- {name: dummy.com/npu, dummy: }\n"
     "- {name: dummy.com/fpga, dummy: }\n",
     "t.yaml:4:3: resources[1].env 'DUMMY_VISIBLE_DEVICES' is already that of resources[0] "
     "('dummy.com/npu'): a container with both would get only one of them; did you mean "
     "'DUMMY_FPGA_VISIBLE_DEVICES'? [config-duplicate]\n"
     "- {name: dummy.com/fpga, dummy: }\n"
     "  ^\n"},
    {"TwoResourcesHaveOneCdiKind",
     "resources:\n"
     "- {name: a.com/x, dummy: , cdi: {kind: a.com/yy}}\n"
     "- {name: b.com/x, dummy: , cdi: {kind: a.com/yy}}\n",
     "t.yaml:4:40: resources[1].cdi.kind 'a.com/yy' is already that of resources[0] ('a.com/x'): "
     "their devices would have the same names [config-duplicate]\n"
     "- {name: b.com/x, dummy: , cdi: {kind: a.com/yy}}\n"
     "                                       ^\n"},
    {"TheKindIsMissing",
     "resources:\n"
     "- name: dummy.com/npu\n",
     "t.yaml:3:3: resources[0] needs one section of 'dummy', 'files', 'nvidia', 'amd', 'ascend', "
     "'rdma', 'fpga' or 'pair' "
     "[config-missing]\n"
     "- name: dummy.com/npu\n"
     "  ^\n"},
    {"TheKindIsGivenTwice",
     "resources:\n"
     "- name: dummy.com/npu\n"
     "  dummy:\n"
     "  files: {paths: [/dev/x]}\n",
     "t.yaml:5:10: resources[0].files cannot be combined with 'dummy': a resource has one kind "
     "[config-bad-value]\n"
     "  files: {paths: [/dev/x]}\n"
     "         ^\n"},
    {"ReplicasHaveNoNumber",
     "resources:\n"
     "- {name: a.com/b, dummy: , policy: replicas}\n",
     "t.yaml:3:36: resources[0].policy is 'replicas' and needs the key 'replicas' "
     "[config-missing]\n"
     "- {name: a.com/b, dummy: , policy: replicas}\n"
     "                                   ^\n"},
    {"ReplicasHaveNoPolicy",
     "resources:\n"
     "- {name: a.com/b, dummy: , replicas: 4}\n",
     "t.yaml:3:38: resources[0].replicas needs 'policy: replicas' [config-missing]\n"
     "- {name: a.com/b, dummy: , replicas: 4}\n"
     "                                     ^\n"},
    {"ReplicasAreOne",
     "resources:\n"
     "- {name: a.com/b, dummy: , policy: replicas, replicas: 1}\n",
     "t.yaml:3:56: resources[0].replicas must be at least 2 with 'policy: replicas' "
     "[config-bad-value]\n"
     "- {name: a.com/b, dummy: , policy: replicas, replicas: 1}\n"
     "                                                       ^\n"},
    {"WhatIsOfReplicasHasNoPolicy",
     "resources:\n"
     "- {name: a.com/b, dummy: , replicaSeparator: dash}\n"
     "- {name: a.com/c, env: C, dummy: , onePerContainer: true}\n",
     "t.yaml:3:46: resources[0].replicaSeparator needs 'policy: replicas' [config-missing]\n"
     "- {name: a.com/b, dummy: , replicaSeparator: dash}\n"
     "                                             ^\n"
     "t.yaml:4:53: resources[1].onePerContainer needs 'policy: replicas' [config-missing]\n"
     "- {name: a.com/c, env: C, dummy: , onePerContainer: true}\n"
     "                                                    ^\n"},
    {"ThePolicyIsMistypedAndNothingElseIsTold",
     "resources:\n"
     "- {name: a.com/b, dummy: , policy: replica, replicas: 4}\n",
     "t.yaml:3:36: resources[0].policy takes 'whole', 'replicas', 'mps' or 'vgpu', not 'replica'; "
     "did you "
     "mean 'replicas'? [config-bad-value]\n"
     "- {name: a.com/b, dummy: , policy: replica, replicas: 4}\n"
     "                                   ^\n"},
    {"AStrategyIsNamedTwice",
     "resources:\n"
     "- {name: a.com/b, dummy: , strategies: [envvar, envvar]}\n",
     "t.yaml:3:40: resources[0].strategies names 'envvar' twice [config-duplicate]\n"
     "- {name: a.com/b, dummy: , strategies: [envvar, envvar]}\n"
     "                                       ^\n"},
    {"StrategiesAreEmpty",
     "resources:\n"
     "- {name: a.com/b, dummy: , strategies: []}\n",
     "t.yaml:3:40: resources[0].strategies must name at least one: containers would get nothing "
     "[config-missing]\n"
     "- {name: a.com/b, dummy: , strategies: []}\n"
     "                                       ^\n"},
    {"CdiHasNoKind",
     "resources:\n"
     "- {name: a.com/b, dummy: , strategies: [cdi-annotations, cdi-cri]}\n",
     "t.yaml:3:40: resources[0].strategies has 'cdi-annotations', which needs 'cdi.kind' "
     "[config-missing]\n"
     "- {name: a.com/b, dummy: , strategies: [cdi-annotations, cdi-cri]}\n"
     "                                       ^\n"
     "t.yaml:3:40: resources[0].strategies has 'cdi-cri', which needs 'cdi.kind' [config-missing]\n"
     "- {name: a.com/b, dummy: , strategies: [cdi-annotations, cdi-cri]}\n"
     "                                       ^\n"},
};

using RulesErrors = BadInputTest;

TEST_P(RulesErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, RulesErrors, testing::ValuesIn(kBrokenRules), NameOf);

// The errors for a kind that prepares devices around grants.
std::string ToldOfPreparing(const Resource& resource, bool prepares = true) {
  Kind kind;
  kind.section.name = "fixture";
  if (prepares) kind.prepares = [](const Resource& one) { return one.name == "fixture.com/card"; };
  const Document document = Document::Parse("t.yaml", "version: tessera/v1\n");
  Findings findings(document);
  CheckPrepares(kind, resource, "resources[0]", findings);
  std::string told;
  for (const Problem& problem : findings.SortedErrors()) told += problem.message + "\n";
  return told;
}

TEST(Rules, WhatIsPreparedForGrantsNeedsCdi) {
  Resource resource;
  resource.name = "fixture.com/card";
  const std::string why =
      ": devices of 'fixture' are prepared for each container, which needs CDI\n";
  EXPECT_EQ(ToldOfPreparing(resource),
            "resources[0].strategies must have 'cdi-cri' or 'cdi-annotations'" + why);
  EXPECT_EQ(ToldOfPreparing(resource, false), "");
  resource.rendering.strategies = {Strategy::kEnvvar, Strategy::kCdiCri};
  EXPECT_EQ(ToldOfPreparing(resource), "");
  resource.rendering.cdi_write = false;
  EXPECT_EQ(ToldOfPreparing(resource), "resources[0].cdi.write must not be false" + why);
  resource.name = "fixture.com/other";
  EXPECT_EQ(ToldOfPreparing(resource), "") << "its backend prepares nothing";
}

}  // namespace
}  // namespace tessera::config
