// SPDX-License-Identifier: Apache-2.0
#include "backend/kind.h"

#include <gtest/gtest.h>

#include "backend/dummy/dummy_config.h"
#include "config/told_test.h"

namespace tessera::dummy {
namespace {

using namespace config;  // the words of its keys

TEST(DummyKind, ADummyResourceHasTheDefaultsOfItsVendor) {
  const Config config = Good("resources: [{name: my-vendor.example.com/npu, dummy: {count: 2}}]\n");
  Resource expected;
  expected.name = "my-vendor.example.com/npu";
  expected.rendering.env = "MY_VENDOR_VISIBLE_DEVICES";
  expected.kind = KindConfig::Of(DummyConfig{.count = 2});
  EXPECT_EQ(config.resources, std::vector<Resource>{expected});
}

TEST(DummyKind, AVariableDoesNotBeginWithADigit) {
  const Config config = Good("resources: [{name: 3dfx.com/voodoo, dummy: }]\n");
  EXPECT_EQ(config.resources[0].rendering.env, "_3DFX_VISIBLE_DEVICES");
}

TEST(DummyKind, PathsInTheContainerFollowThoseOnTheHost) {
  const Config config = Good(
      "resources:\n"
      "- name: dummy.com/npu\n"
      "  dummy:\n"
      "    nodes: [{hostPath: '/dev/npu{id}'}]\n"
      "    mounts: [{hostPath: /a, containerPath: /b, readOnly: false}]\n");
  const DummyConfig expected{.nodes = {{"/dev/npu{id}", "/dev/npu{id}", "rw"}},
                             .mounts = {{"/a", "/b", false}}};
  EXPECT_EQ(*config.resources[0].kind.As<DummyConfig>(), expected);
}

const BadInput kBadInputs[] = {
    {"ATruthValueIsYes",
     "resources:\n"
     "- name: dummy.com/npu\n"
     "  dummy:\n"
     "    mounts: [{hostPath: /a, readOnly: yes}]\n",
     "t.yaml:5:39: resources[0].dummy.mounts[0].readOnly takes true or false, not 'yes'; did you "
     "mean 'true'? [config-wrong-type]\n"
     "    mounts: [{hostPath: /a, readOnly: yes}]\n"
     "                                      ^\n"},
    {"TwoResourcesHaveOneFaultFile",
     "resources:\n"
     "- {name: a.com/x, dummy: {faultFile: /f}}\n"
     "- {name: b.com/x, dummy: {faultFile: /f}}\n",
     "t.yaml:4:38: resources[1].dummy.faultFile '/f' is the file of resources[0] already: each "
     "dummy resource needs its own [config-duplicate]\n"
     "- {name: b.com/x, dummy: {faultFile: /f}}\n"
     "                                     ^\n"},
    {"PermissionsAreNoLetters",
     "resources:\n"
     "- name: dummy.com/npu\n"
     "  dummy:\n"
     "    nodes: [{hostPath: /a, permissions: rx}]\n",
     "t.yaml:5:41: resources[0].dummy.nodes[0].permissions must be some of the letters r (read), w "
     "(write) and m (mknod), each once, not 'rx' [config-bad-value]\n"
     "    nodes: [{hostPath: /a, permissions: rx}]\n"
     "                                        ^\n"},
    {"ANodeHasNoPath",
     "resources:\n"
     "- name: dummy.com/npu\n"
     "  dummy:\n"
     "    nodes: [{containerPath: /a}]\n",
     "t.yaml:5:13: resources[0].dummy.nodes[0] needs the key 'hostPath' [config-missing]\n"
     "    nodes: [{containerPath: /a}]\n"
     "            ^\n"},
    {"ThereAreTooManyItems",
     "resources:\n"
     "- name: dummy.com/npu\n"
     "  dummy:\n"
     "    nodes: "
     "[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}"
     ",{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}"
     ",{},{},{}]\n",
     "t.yaml:5:12: resources[0].dummy.nodes has 65 items, at most 64 are allowed "
     "[config-bad-value]\n"
     "    nodes: "
     "[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}"
     ",{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{...\n"
     "           ^\n"},
};

using DummyKindErrors = BadInputTest;

TEST_P(DummyKindErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, DummyKindErrors, testing::ValuesIn(kBadInputs), NameOf);

}  // namespace
}  // namespace tessera::dummy
