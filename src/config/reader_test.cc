// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "config/told_test.h"
#include "kinds/kinds.h"

namespace tessera::config {
namespace {

// A whole text, without a version line in front.
std::string ToldOfWhole(const std::string& yaml) {
  return Text(Load(FullSchema(), {.file = Document::Parse("t.yaml", yaml)}).errors);
}

TEST(Reader, TheVersionIsMissing) {
  EXPECT_EQ(ToldOfWhole("kubelet: {root: /x}\n"),
            "t.yaml:1:1: the file needs the key 'version' [config-version]\n"
            "kubelet: {root: /x}\n"
            "^\n");
}

TEST(Reader, TheFileIsEmpty) {
  EXPECT_EQ(ToldOfWhole(""), "t.yaml:1:1: the file needs the key 'version' [config-version]\n");
}

TEST(Reader, TheVersionIsOfNvidiasPlugin) {
  EXPECT_EQ(ToldOfWhole("version: v1\n"
                        "flags: {migStrategy: none}\n"
                        "sharing: {}\n"),
            "t.yaml:1:10: version 'v1' is the format of NVIDIA's device plugin: serve it with "
            "'tessera agent nvidia --config-file FILE', or convert it to 'tessera/v1' with "
            "'tessera config convert FILE' [config-version]\n"
            "version: v1\n"
            "         ^\n");
}

TEST(Reader, TheFileIsHamis) {
  EXPECT_EQ(ToldOfWhole("nvidia: {deviceSplitCount: 10}\n"),
            "t.yaml:1:9: this is HAMi's device-config.yaml, or lacks Tessera's 'version': serve "
            "HAMi's with 'tessera agent nvidia --config-file FILE', or convert it with 'tessera "
            "config convert FILE' [config-version]\n"
            "nvidia: {deviceSplitCount: 10}\n"
            "        ^\n");
}

TEST(Reader, TheVersionIsUnknownAndNothingElseIsTold) {
  EXPECT_EQ(
      ToldOfWhole("version: tessera/v2\n"
                  "foo: 1\n"),
      "t.yaml:1:10: version 'tessera/v2' is not known; this version of Tessera reads 'tessera/v1' "
      "[config-version]\n"
      "version: tessera/v2\n"
      "         ^\n");
}

TEST(Reader, TheFileIsAConfigMap) {
  EXPECT_EQ(ToldOfWhole("apiVersion: v1\n"
                        "kind: ConfigMap\n"
                        "data: {config.yaml: \"version: tessera/v1\"}\n"),
            "t.yaml:1:1: the file is a Kubernetes object of kind 'ConfigMap', not a configuration; "
            "put the text below its 'data' into a file of its own [config-version]\n"
            "apiVersion: v1\n"
            "^\n");
}

TEST(Reader, TheFileIsAList) {
  EXPECT_EQ(ToldOfWhole("- a\n"
                        "- b\n"),
            "t.yaml:1:1: the file takes a map of keys, not a list [config-wrong-type]\n"
            "- a\n"
            "^\n");
}

const BadInput kBadInputs[] = {
    {"AKeyStandsTwice",
     "log: {level: info}\n"
     "log: {level: warn}\n",
     "t.yaml:3:1: key 'log' is repeated; the first is on line 2 [config-duplicate]\n"
     "log: {level: warn}\n"
     "^\n"},
    {"ASectionIsNoMap", "kubelet: 5\n",
     "t.yaml:2:10: kubelet takes a map of keys, not '5' [config-wrong-type]\n"
     "kubelet: 5\n"
     "         ^\n"},
    {"AKeyIsMistyped", "kublet: {root: /x}\n",
     "t.yaml:2:1: unknown key 'kublet'; did you mean 'kubelet'? [config-unknown-key]\n"
     "kublet: {root: /x}\n"
     "^\n"},
    {"AKeyStandsInTheWrongSection", "root: /x\n",
     "t.yaml:2:1: unknown key 'root'; did you mean 'kubelet.root'? [config-unknown-key]\n"
     "root: /x\n"
     "^\n"},
    {"AKeyIsUnknown",
     "resources:\n"
     "- name: dummy.com/npu\n"
     "  dummy: {colour: red}\n",
     "t.yaml:4:11: unknown key 'colour' in resources[0].dummy [config-unknown-key]\n"
     "  dummy: {colour: red}\n"
     "          ^\n"},
    {"AValueIsMissing",
     "state:\n"
     "  dir:\n",
     "t.yaml:3:3: state.dir takes an absolute path, not nothing [config-wrong-type]\n"
     "  dir:\n"
     "  ^\n"},
    {"ResourcesAreNoList", "resources: {name: dummy.com/npu}\n",
     "t.yaml:2:12: resources takes a list, not a map [config-wrong-type]\n"
     "resources: {name: dummy.com/npu}\n"
     "           ^\n"},
    {"AResourceIsNoMap",
     "resources:\n"
     "- dummy\n",
     "t.yaml:3:3: resources[0] takes a map of keys, not 'dummy' [config-wrong-type]\n"
     "- dummy\n"
     "  ^\n"},
    {"AResourceIsEmpty",
     "resources:\n"
     "- {}\n",
     "t.yaml:3:3: resources[0] needs the key 'name' [config-missing]\n"
     "- {}\n"
     "  ^\n"
     "t.yaml:3:3: resources[0] needs one section of 'dummy', 'files', 'nvidia', 'amd', 'ascend', "
     "'rdma', 'fpga' or 'pair' "
     "[config-missing]\n"
     "- {}\n"
     "  ^\n"},
    {"SeveralAreWrongAndAllAreTold",
     "log: {level: x}\n"
     "kublet: 1\n"
     "resources:\n"
     "- {name: npu, dummy: {count: -1}}\n"
     "- {}\n",
     "t.yaml:2:14: log.level takes 'debug', 'info', 'warn', 'error' or 'off', not 'x' "
     "[config-bad-value]\n"
     "log: {level: x}\n"
     "             ^\n"
     "t.yaml:3:1: unknown key 'kublet'; did you mean 'kubelet'? [config-unknown-key]\n"
     "kublet: 1\n"
     "^\n"
     "t.yaml:5:10: resources[0].name must be an extended resource name, vendor.domain/name outside "
     "kubernetes.io, not 'npu' [config-bad-name]\n"
     "- {name: npu, dummy: {count: -1}}\n"
     "         ^\n"
     "t.yaml:5:30: resources[0].dummy.count takes a whole number from 0 to 65536, not '-1' "
     "[config-bad-value]\n"
     "- {name: npu, dummy: {count: -1}}\n"
     "                             ^\n"
     "t.yaml:6:3: resources[1] needs the key 'name' [config-missing]\n"
     "- {}\n"
     "  ^\n"
     "t.yaml:6:3: resources[1] needs one section of 'dummy', 'files', 'nvidia', 'amd', 'ascend', "
     "'rdma', 'fpga' or 'pair' "
     "[config-missing]\n"
     "- {}\n"
     "  ^\n"},
};

using ReaderErrors = BadInputTest;

TEST_P(ReaderErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, ReaderErrors, testing::ValuesIn(kBadInputs), NameOf);

}  // namespace
}  // namespace tessera::config
