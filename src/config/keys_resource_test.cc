// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "config/told_test.h"

namespace tessera::config {
namespace {

const BadInput kBadResourceInputs[] = {
    {"ANameHasNoVendor",
     "resources:\n"
     "- {name: npu, dummy: }\n",
     "t.yaml:3:10: resources[0].name must be an extended resource name, vendor.domain/name outside "
     "kubernetes.io, not 'npu' [config-bad-name]\n"
     "- {name: npu, dummy: }\n"
     "         ^\n"},
    {"ANameIsThatOfAQuota",
     "resources:\n"
     "- {name: requests.dummy.com/npu, dummy: }\n",
     "t.yaml:3:10: resources[0].name must be an extended resource name, vendor.domain/name outside "
     "kubernetes.io, not 'requests.dummy.com/npu'; did you mean 'dummy.com/npu'? "
     "[config-bad-name]\n"
     "- {name: requests.dummy.com/npu, dummy: }\n"
     "         ^\n"},
    {"ANameIsKubernetesOwn",
     "resources:\n"
     "- {name: dummy.kubernetes.io/npu, dummy: }\n",
     "t.yaml:3:10: resources[0].name must be an extended resource name, vendor.domain/name outside "
     "kubernetes.io, not 'dummy.kubernetes.io/npu' [config-bad-name]\n"
     "- {name: dummy.kubernetes.io/npu, dummy: }\n"
     "         ^\n"},
    {"ThePolicyIsMig",
     "resources:\n"
     "- {name: nvidia.com/gpu, nvidia: , policy: mig}\n",
     "t.yaml:3:44: resources[0].policy does not select MIG devices: select them by 'nvidia: {mig: "
     "PROFILE}', and leave 'policy' out or share each by 'policy: replicas' [config-bad-value]\n"
     "- {name: nvidia.com/gpu, nvidia: , policy: mig}\n"
     "                                           ^\n"},
    {"AStrategyIsMistyped",
     "resources:\n"
     "- {name: a.com/b, dummy: , strategies: [envar, cdi-cri]}\n",
     "t.yaml:3:41: resources[0].strategies takes 'envvar', 'volume-mounts', 'device-specs', "
     "'cdi-annotations' or 'cdi-cri', not 'envar'; did you mean 'envvar'? [config-bad-value]\n"
     "- {name: a.com/b, dummy: , strategies: [envar, cdi-cri]}\n"
     "                                        ^\n"},
    {"StrategiesAreNoList",
     "resources:\n"
     "- {name: a.com/b, dummy: , strategies: envvar}\n",
     "t.yaml:3:40: resources[0].strategies takes a list of 'envvar', 'volume-mounts', "
     "'device-specs', 'cdi-annotations' or 'cdi-cri', not 'envvar' [config-wrong-type]\n"
     "- {name: a.com/b, dummy: , strategies: envvar}\n"
     "                                       ^\n"},
    {"ACdiKindIsTooShort",
     "resources:\n"
     "- {name: a.com/b, dummy: , cdi: {kind: a/npu}}\n",
     "t.yaml:3:40: resources[0].cdi.kind must be a CDI kind, vendor/class with at least two "
     "letters each, not 'a/npu' [config-bad-value]\n"
     "- {name: a.com/b, dummy: , cdi: {kind: a/npu}}\n"
     "                                       ^\n"},
    {"AVariableIsNoName",
     "resources:\n"
     "- {name: a.com/b, dummy: , env: 1X}\n",
     "t.yaml:3:33: resources[0].env must be the name of an environment variable (letters, digits "
     "and _), not '1X' [config-bad-value]\n"
     "- {name: a.com/b, dummy: , env: 1X}\n"
     "                                ^\n"},
};

using ResourceKeysErrors = BadInputTest;

TEST_P(ResourceKeysErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, ResourceKeysErrors, testing::ValuesIn(kBadResourceInputs), NameOf);

}  // namespace
}  // namespace tessera::config
