// SPDX-License-Identifier: Apache-2.0
#include "backend/kind.h"

#include <gtest/gtest.h>

#include "backend/rdma/rdma_config.h"
#include "config/told_test.h"

namespace tessera::rdma {
namespace {

using namespace config;  // the words of its keys

RdmaConfig ConfigOf(const Config& config, size_t index = 0) {
  return *config.resources[index].kind.As<RdmaConfig>();
}

TEST(RdmaKind, AResourceOfAllCardsNeedsNoKey) {
  EXPECT_EQ(ConfigOf(Good("resources: [{name: example.com/nic, rdma: {}}]\n")), RdmaConfig());
}

TEST(RdmaKind, EveryKeyIsRead) {
  const Config config = Good(
      "resources:\n"
      "- name: example.com/nic\n"
      "  rdma:\n"
      "    select:\n"
      "    - {vendor: \"15b3\", device: 101e, driver: mlx5_core, address: \"0000:af:00.1\",\n"
      "       interface: ens3f0v0, pf: \"ens3f0np0#0-3,7\", link: ether, pkey: \"0x8001\",\n"
      "       pfAddress: \"0000:af:00.0\", acpiIndex: \"101\", verbs: false, vhost: true}\n"
      "    function: vf\n"
      "    class: accelerator\n"
      "    info: [{address: \"0000:af:00.1\", key: rack, value: \"7\"}, {key: site, value: a}]\n"
      "    verbs: false\n"
      "    issm: true\n"
      "    vhost: true\n"
      "    cni: true\n"
      "    names: hca\n");
  EXPECT_EQ(ConfigOf(config),
            (RdmaConfig{.choice = {.select = {{.vendor = "15b3",
                                               .device = "101e",
                                               .driver = "mlx5_core",
                                               .address = "0000:af:00.1",
                                               .interface = "ens3f0v0",
                                               .pf = "ens3f0np0#0-3,7",
                                               .pf_address = "0000:af:00.0",
                                               .acpi_index = "101",
                                               .link = "ether",
                                               .pkey = "0x8001",
                                               .access = {.verbs = false, .vhost = true}}},
                                   .which = RdmaChoice::Which::kVirtual,
                                   .accelerators = true,
                                   .verbs = false},
                        .info = {{"", "site", "a"}, {"0000:af:00.1", "rack", "7"}},
                        .issm = true,
                        .vhost = true,
                        .cni = true,
                        .names = RdmaConfig::Names::kHca}));
}

TEST(RdmaKind, AcceleratorsHaveNoRdmaDevices) {
  const Config config = Good("resources: [{name: a.b/c, rdma: {class: accelerator}}]\n");
  EXPECT_EQ(ConfigOf(config), (RdmaConfig{.choice = {.accelerators = true, .verbs = false}}));
}

TEST(RdmaKind, AResourceKnowsWhichFunctionsEarlierOnesHave) {
  const Config config = Good(
      "resources:\n"
      "- {name: example.com/a, policy: replicas, replicas: 4, rdma: {function: pf}}\n"
      "- {name: example.com/b, rdma: {}}\n");
  const RdmaChoice first = {.which = RdmaChoice::Which::kPhysical, .shared = true};
  EXPECT_EQ(ConfigOf(config).choice, first);
  EXPECT_EQ(ConfigOf(config, 1), (RdmaConfig{.earlier = {{"example.com/a", first}}}));
}

const BadInput kBadInputs[] = {
    {"AnEntryHasNoKey",
     "resources:\n"
     "- {name: example.com/nic, rdma: {select: [{}]}}\n",
     "t.yaml:3:43: resources[0].rdma.select[0] needs a key that chooses functions, such as "
     "'vendor' or 'pf' "
     "[config-missing]\n"
     "- {name: example.com/nic, rdma: {select: [{}]}}\n"
     "                                          ^\n"},
    {"AnEntryHasNoCondition",
     "resources:\n"
     "- {name: example.com/nic, rdma: {select: [{verbs: false}]}}\n",
     "t.yaml:3:43: resources[0].rdma.select[0] needs a key that chooses functions, such as "
     "'vendor' or 'pf' "
     "[config-missing]\n"
     "- {name: example.com/nic, rdma: {select: [{verbs: false}]}}\n"
     "                                          ^\n"},
    {"AFunctionForCniIsShared",
     "resources:\n"
     "- {name: example.com/nic, policy: replicas, replicas: 2, rdma: {cni: true}}\n",
     "t.yaml:3:70: resources[0].rdma.cni is not for a policy that shares devices: a network "
     "interface is moved into one pod [config-bad-value]\n"
     "- {name: example.com/nic, policy: replicas, replicas: 2, rdma: {cni: true}}\n"
     "                                                                     ^\n"},
    {"AVendorIsNoNumber",
     "resources:\n"
     "- {name: example.com/nic, rdma: {select: [{vendor: mellanox}]}}\n",
     "t.yaml:3:52: resources[0].rdma.select[0].vendor must be four digits of 0-9 and a-f, not "
     "'mellanox' [config-bad-value]\n"
     "- {name: example.com/nic, rdma: {select: [{vendor: mellanox}]}}\n"
     "                                                   ^\n"},
    {"NumbersOfFunctionsAreNone",
     "resources:\n"
     "- {name: example.com/nic, rdma: {select: [{pf: \"a#3-1\"}]}}\n",
     "t.yaml:3:48: resources[0].rdma.select[0].pf must be an interface or an address, and may end "
     "in numbers of its functions as in 'ens3f0np0#0-3,7', not 'a#3-1' [config-bad-value]\n"
     "- {name: example.com/nic, rdma: {select: [{pf: \"a#3-1\"}]}}\n"
     "                                               ^\n"},
};
using RdmaKindErrors = BadInputTest;

TEST_P(RdmaKindErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, RdmaKindErrors, testing::ValuesIn(kBadInputs), NameOf);

}  // namespace
}  // namespace tessera::rdma
