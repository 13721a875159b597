// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/functions.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "backend/rdma/node_test.h"
#include "rdma/node.h"

namespace tessera::rdma {
namespace {

constexpr char kPathOf3[] = "pci0000:ae/0000:ae:00.0/0000:af:00.3";

class FunctionsTest : public NodeTest {
 protected:
  std::vector<Function> Read(const Details& details = {}) const {
    return ReadFunctions(root_, ReadNames(root_).value(), details);
  }
};

TEST_F(FunctionsTest, APhysicalFunctionHasTheNamesOfItsClasses) {
  const RdmaNode node(directory_, Two());
  const std::vector<Function> functions = Read();
  ASSERT_EQ(functions.size(), 6U);
  EXPECT_EQ(functions[0], (Function{.address = "0000:3b:00.0",
                                    .vendor = "15b3",
                                    .device = "101b",
                                    .driver = "mlx5_core",
                                    .numa = 0,
                                    .pci_path = "pci0000:3a/0000:3a:00.0/0000:3b:00.0",
                                    .iommu_group = 24,
                                    .interfaces = {"ibp59s0"},
                                    .link = "infiniband",
                                    .pkey = "0xffff",
                                    .hca = "mlx5_0",
                                    .verbs = {"uverbs0"},
                                    .mads = {"umad0"},
                                    .issms = {"issm0"}}));
  EXPECT_EQ(functions[1].functions, 4);
}

TEST_F(FunctionsTest, AVirtualFunctionKnowsItsPhysicalOneAndItsNumber) {
  const RdmaNode node(directory_, Two());
  const std::vector<Function> functions = Read();
  EXPECT_EQ(*Find(functions, "0000:af:00.3"), (Function{.address = "0000:af:00.3",
                                                        .vendor = "15b3",
                                                        .device = "101c",
                                                        .driver = "mlx5_core",
                                                        .physical = "0000:af:00.0",
                                                        .index = 2,
                                                        .numa = 1,
                                                        .pci_path = kPathOf3,
                                                        .iommu_group = 73,
                                                        .interfaces = {"ens3f0v2"},
                                                        .link = "ether",
                                                        .hca = "mlx5_4",
                                                        .verbs = {"uverbs4"},
                                                        .mads = {"umad4"},
                                                        .issms = {"issm4"}}));
  EXPECT_EQ(Find(functions, "0000:af:00.9"), nullptr);
}

TEST_F(FunctionsTest, AVirtualFunctionHasANumaNodeIfItsCardHasNone) {
  const RdmaNode node(directory_, Two());
  Write("/sys/bus/pci/devices/0000:af:00.0/numa_node", "-1\n");
  EXPECT_EQ(Find(Read(), "0000:af:00.0")->numa, std::nullopt);
  EXPECT_EQ(Find(Read(), "0000:af:00.1")->numa, 1);
}

TEST_F(FunctionsTest, AVirtualFunctionWhoseCardIsUnknownHasAPlaceOfItsOwn) {
  const RdmaNode node(directory_, Two());
  Write("/sys/bus/pci/devices/0000:af:00.0/class", "0x088000\n");
  EXPECT_EQ(Find(Read(), "0000:af:00.0"), nullptr);
  EXPECT_EQ(Find(Read(), "0000:af:00.3")->pci_path, kPathOf3);
}

TEST_F(FunctionsTest, AVirtualFunctionWhoseIdentityCannotBeReadHasItsSiblings) {
  const RdmaNode node(directory_, Two());
  Write("/sys/bus/pci/devices/0000:af:00.3/class", "");
  Write("/sys/bus/pci/devices/0000:af:00.3/vendor", "");
  const std::vector<Function> functions = Read();
  EXPECT_EQ(Find(functions, "0000:af:00.3")->vendor, "15b3");
  EXPECT_EQ(Find(functions, "0000:af:00.3")->trouble, std::nullopt);
}

TEST_F(FunctionsTest, TheLinkIsKnownWhileAPodHasTheInterface) {
  RdmaNode node(directory_, Two());
  node.SetAway("0000:3b:00.0", true);
  const Function function = Read()[0];
  EXPECT_EQ(function.interfaces, std::vector<std::string>());
  EXPECT_EQ(function.link, "infiniband");
}

TEST_F(FunctionsTest, AnInterfaceThatIsRenamedMeanwhileIsStillTheCards) {
  RdmaNode node(directory_, Two());
  node.Bond("0000:3b:00.0", "0000:af:00.0");
  const Names names = ReadNames(root_).value();
  const std::string net = directory_ + "/sys/bus/pci/devices/0000:3b:00.0/net/";
  ASSERT_EQ(rename((net + "ibp59s0").c_str(), (net + "ib0").c_str()), 0);
  const Function function = ReadFunctions(root_, names)[0];
  EXPECT_EQ(function.interfaces, std::vector<std::string>{"ib0"});
  EXPECT_EQ(function.master, "bond0");
  EXPECT_EQ(function.pkey, "0xffff");
}

TEST_F(FunctionsTest, AnInterfaceThatStandsForAVirtualFunctionIsNotTheCards) {
  const RdmaNode node(directory_, Two());
  Write("/sys/bus/pci/devices/0000:af:00.0/net/ens3f0npf0vf1/phys_port_name", "pf0vf1\n");
  ASSERT_TRUE(os::ReplaceLink(directory_ + "/sys/class/net/ens3f0npf0vf1",
                              "../../devices/pci0000:ae/0000:ae:00.0/0000:af:00.0/net/"
                              "ens3f0npf0vf1"));
  EXPECT_EQ(Read()[1].interfaces, std::vector<std::string>{"ens3f0np0"});
}

TEST_F(FunctionsTest, AnRdmaDeviceWithoutANodeIsATrouble) {
  const RdmaNode node(directory_, Two());
  ASSERT_TRUE(os::RemoveFile(directory_ + "/sys/class/infiniband_verbs/uverbs0"));
  EXPECT_EQ(Read()[0].trouble,
            (Error{Reason::kUnreadable,
                   "0000:3b:00.0: mlx5_0 has no node for programs: load the module ib_uverbs"}));
}

TEST_F(FunctionsTest, ACardOfABondIsAPart) {
  RdmaNode node(directory_, Two());
  node.Bond("0000:3b:00.0", "0000:af:00.0");
  EXPECT_EQ(Read()[0].master, "bond0");
  EXPECT_EQ(Read()[1].master, "bond0");
  EXPECT_EQ(Read()[2].master, "");
}

TEST_F(FunctionsTest, AFunctionThatReadsAsOnesIsLostUnlessItSleeps) {
  RdmaNode node(directory_, Two());
  const std::string function = "/sys/bus/pci/devices/0000:af:00.1";
  const auto is_lost = [&] { return IsLost(sysfs::Directory(root_.Path(function))); };
  EXPECT_FALSE(is_lost());
  node.Lose("0000:af:00.1");
  EXPECT_TRUE(is_lost());
  Write(function + "/power/runtime_status", "suspended\n");
  EXPECT_FALSE(is_lost());
}

TEST_F(FunctionsTest, DetailsThatNobodyNeedsAreNotRead) {
  const RdmaNode node(directory_, Two());
  Write("/sys/bus/pci/devices/0000:af:00.3/acpi_index", "101\n");
  EXPECT_EQ(Find(Read(), "0000:af:00.3")->acpi_index, "101");
  const std::vector<Function> functions = Read({.links = false,
                                                .numbers = false,
                                                .issms = false,
                                                .acpi_indices = false,
                                                .accelerators = false});
  EXPECT_EQ(*Find(functions, "0000:af:00.3"), (Function{.address = "0000:af:00.3",
                                                        .vendor = "15b3",
                                                        .device = "101c",
                                                        .driver = "mlx5_core",
                                                        .physical = "0000:af:00.0",
                                                        .numa = 1,
                                                        .pci_path = kPathOf3,
                                                        .iommu_group = 73,
                                                        .interfaces = {"ens3f0v2"},
                                                        .hca = "mlx5_4",
                                                        .verbs = {"uverbs4"},
                                                        .mads = {"umad4"}}));
  EXPECT_EQ(functions[0].link, "infiniband") << "a card's is of its health";
}

}  // namespace
}  // namespace tessera::rdma
