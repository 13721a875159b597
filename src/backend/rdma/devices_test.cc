// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/devices.h"

#include <gtest/gtest.h>

#include "backend/rdma/node_test.h"
#include "rdma/node.h"

namespace tessera::rdma {
namespace {

class DevicesTest : public NodeTest {
 protected:
  Device DeviceAt(const std::string& address, const RdmaConfig& config = {},
                  RdmaAccess access = {}) const {
    const Names names = ReadNames(root_).value();
    const std::vector<Function> functions = ReadFunctions(root_, names);
    const Function* const function = Find(functions, address);
    EXPECT_NE(function, nullptr) << address;
    return DeviceOf(root_, "example.com/cx-6.vf", config, *function, access, names.infiniband);
  }
  static std::vector<std::string> Nodes(const Device& device) {
    std::vector<std::string> paths;
    for (const DeviceNode& node : device.nodes) {
      paths.push_back(node.host_path + " " + node.container_path + " " + node.permissions);
    }
    return paths;
  }
};

std::string Same(const std::string& path) {
  return path + " " + path + " rw";
}

TEST_F(DevicesTest, AFunctionHasItsAddressItsPlaceAndItsNodes) {
  const RdmaNode node(directory_, Two());
  const Device device = DeviceAt("0000:af:00.1");
  EXPECT_EQ(device.key, (DeviceKey{"example.com/cx-6.vf", "0000:af:00.1"}));
  EXPECT_EQ(device.model, "NIC VF 15b3:101c");
  EXPECT_EQ(device.address, "0000:af:00.1");
  EXPECT_EQ(device.visible_as, "0000:af:00.1");
  EXPECT_EQ(device.numa_nodes, std::vector<int>{1});
  EXPECT_EQ(Nodes(device), (std::vector<std::string>{Same("/dev/infiniband/uverbs2"),
                                                     Same("/dev/infiniband/umad2"),
                                                     Same("/dev/infiniband/rdma_cm")}));
  EXPECT_EQ(device.traits->pci_path, "pci0000:ae/0000:ae:00.0/0000:af:00.1");
  EXPECT_EQ(device.traits->iommu_group, 71);
  EXPECT_EQ(device.traits->takes, std::vector<std::string>{"pci/0000:af:00.1"});
  EXPECT_EQ(device.defect, std::nullopt);
}

TEST_F(DevicesTest, TheVariablesAreThoseOfTheSriovPlugin) {
  const RdmaNode node(directory_, Two());
  EXPECT_EQ(DeviceAt("0000:3b:00.0", {.issm = true}).traits->variables,
            (DeviceVariables{{"PCIDEVICE_EXAMPLE_COM_CX_6_VF", "0000:3b:00.0"},
                             {"PCIDEVICE_EXAMPLE_COM_CX_6_VF_INFO",
                              R"({"0000:3b:00.0":{"generic":{"deviceID":"0000:3b:00.0"},)"
                              R"("rdma":{"rdma_dev":"mlx5_0","uverbs":"/dev/infiniband/uverbs0",)"
                              R"("umad":"/dev/infiniband/umad0","issm":"/dev/infiniband/issm0",)"
                              R"("rdma_cm":"/dev/infiniband/rdma_cm"}}})"}}));
}

TEST_F(DevicesTest, TextsOfAnAddressReplaceThoseOfAll) {
  const RdmaNode node(directory_, Two());
  const RdmaConfig config = {.info = {{"", "rack", "0"},
                                      {"", "site", "a \"b\""},
                                      {"0000:af:00.1", "rack", "7"},
                                      {"0000:af:00.2", "rack", "8"}}};
  const Device device = DeviceAt("0000:af:00.1", config, {.verbs = false});
  EXPECT_EQ(device.traits->variables.at("PCIDEVICE_EXAMPLE_COM_CX_6_VF_INFO"),
            R"({"0000:af:00.1":{"generic":{"deviceID":"0000:af:00.1"},)"
            R"("extra_info":{"rack":"7","site":"a \"b\""}}})");
}

TEST_F(DevicesTest, TheNodeOfASubnetManagerIsGivenIfThereIsOne) {
  const RdmaNode node(directory_, PairsVm());
  EXPECT_EQ(
      Nodes(DeviceAt("0000:00:09.0", {.issm = true})),
      (std::vector<std::string>{Same("/dev/infiniband/uverbs0"), Same("/dev/infiniband/umad0"),
                                Same("/dev/infiniband/rdma_cm")}));
}

TEST_F(DevicesTest, NamesMayBeThoseOfRdmaDevices) {
  const RdmaNode node(directory_, Two());
  EXPECT_EQ(DeviceAt("0000:af:00.1", {.names = RdmaConfig::Names::kHca}).visible_as, "mlx5_2");
}

TEST_F(DevicesTest, AVirtualMachineHasNoNumaNodes) {
  const RdmaNode node(directory_, PairsVm());
  EXPECT_EQ(DeviceAt("0000:00:09.0").numa_nodes, std::vector<int>());
  EXPECT_EQ(DeviceAt("0000:00:09.0").traits->pci_path, "pci0000:00/0000:00:09.0");
}

TEST_F(DevicesTest, AFunctionWithoutVerbsHasNoNodesOfThem) {
  const RdmaNode node(directory_, Two());
  EXPECT_EQ(Nodes(DeviceAt("0000:af:00.1", {}, {.verbs = false})), std::vector<std::string>());
}

TEST_F(DevicesTest, AMissingNodeIsADefect) {
  const RdmaNode node(directory_, Two());
  ASSERT_TRUE(os::RemoveFile(directory_ + "/dev/infiniband/uverbs2"));
  EXPECT_EQ(DeviceAt("0000:af:00.1").defect,
            (Error{Reason::kUnreadable,
                   "/dev/infiniband/uverbs2 is not there: see whether the device's driver is "
                   "loaded"}));
}

TEST_F(DevicesTest, AFunctionOfVfioTakesItsGroup) {
  RdmaNode node(directory_, Two());
  node.SetDriver("0000:af:00.1", "vfio-pci");
  const Device device = DeviceAt("0000:af:00.1");
  EXPECT_EQ(Nodes(device),
            (std::vector<std::string>{Same("/dev/vfio/vfio"), Same("/dev/vfio/71")}));
  EXPECT_EQ(device.traits->takes, (std::vector<std::string>{"pci/0000:af:00.1", "iommu/71"}));
  EXPECT_EQ(device.traits->variables.at("PCIDEVICE_EXAMPLE_COM_CX_6_VF_INFO"),
            R"({"0000:af:00.1":{"generic":{"deviceID":"0000:af:00.1"},)"
            R"("vfio":{"dev-mount":"/dev/vfio/71","mount":"/dev/vfio/vfio"}}})");
}

TEST_F(DevicesTest, AFunctionOfUioHasItsNode) {
  RdmaNode node(directory_, Two());
  node.SetDriver("0000:af:00.1", "uio_pci_generic");
  Write("/sys/bus/pci/devices/0000:af:00.1/uio/uio3/name", "uio_pci_generic\n");
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/sys/class/uio"));
  ASSERT_TRUE(os::ReplaceLink(directory_ + "/sys/class/uio/uio3",
                              "../../devices/pci0000:ae/0000:ae:00.0/0000:af:00.1/uio/uio3"));
  EXPECT_EQ(DeviceAt("0000:af:00.1").defect,
            (Error{Reason::kUnreadable,
                   "/dev/uio3 is not there: see whether the device's driver is loaded"}));
  Write("/dev/uio3", "");
  EXPECT_EQ(Nodes(DeviceAt("0000:af:00.1")), std::vector<std::string>{Same("/dev/uio3")});
}

TEST_F(DevicesTest, AGroupWithoutAnIommuHasAnotherNodeOnTheHost) {
  RdmaNode node(directory_, Two());
  node.SetDriver("0000:af:00.1", "vfio-pci");
  Write("/sys/kernel/iommu_groups/71/name", "vfio-noiommu\n");
  Write("/dev/vfio/noiommu-71", "");
  EXPECT_EQ(Nodes(DeviceAt("0000:af:00.1"))[1], "/dev/vfio/noiommu-71 /dev/vfio/71 rw");
}

TEST_F(DevicesTest, AGroupOfWhichAnotherDriverHasAFunctionIsADefect) {
  RdmaNode node(directory_, Two());
  node.SetDriver("0000:af:00.1", "vfio-pci");
  ASSERT_TRUE(os::ReplaceLink(directory_ + "/sys/kernel/iommu_groups/71/devices/0000:af:00.2",
                              "../../../../bus/pci/devices/0000:af:00.2"));
  EXPECT_EQ(DeviceAt("0000:af:00.1").defect,
            (Error{Reason::kUnreadable,
                   "0000:af:00.1 cannot be given to a program: 0000:af:00.2 of its IOMMU group 71 "
                   "has the driver mlx5_core: bind that to vfio-pci as well"}));
}

TEST_F(DevicesTest, VirtioHasTheKernelsNodes) {
  const RdmaNode node(directory_, Two());
  Write("/dev/vhost-net", "");
  Write("/dev/net/tun", "");
  EXPECT_EQ(Nodes(DeviceAt("0000:af:00.1", {}, {.verbs = false, .vhost = true})),
            (std::vector<std::string>{Same("/dev/vhost-net"), Same("/dev/net/tun")}));
}

}  // namespace
}  // namespace tessera::rdma
