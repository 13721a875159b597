// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/devices.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/ascend/node_test.h"
#include "grant/grant.h"

namespace tessera::ascend {
namespace {

class DevicesTest : public NodeTest {
 protected:
  Chips Read() {
    const auto library = dcmi::Session::Of(root_)->Open();
    EXPECT_TRUE(library) << library.error().Text();
    return ChipReader(root_).Read(*library, Duration(10'000)).value();
  }
  std::vector<Device> Devices(const AscendConfig& config = {},
                              const std::string& name = "huawei.com/npu",
                              const OwnVnpus& own = {}) {
    return Devices(Read(), config, name, own);
  }
  std::vector<Device> Devices(const Chips& chips, const AscendConfig& config,
                              const std::string& name = "huawei.com/npu", const OwnVnpus& own = {},
                              const std::map<std::string, Found>& before = {}) const {
    std::vector<Device> devices;
    for (Found& found : DevicesOf(root_, name, config, chips, own, before)) {
      devices.push_back(std::move(found.device));
    }
    return devices;
  }
  // A vNPU of the agent's, of the first chip.
  static OwnVnpus Own(std::optional<uint32_t> id, const std::string& device) {
    const OwnVnpu vnpu{
        .place = {}, .id = id, .name = "vir05_1c_16g", .device = device, .state = VnpuState::kMade};
    return {{{"grant", device}, vnpu}};
  }
  static std::vector<std::string> Nodes(const Device& device) {
    std::vector<std::string> paths;
    for (const DeviceNode& node : device.nodes) {
      paths.push_back(node.host_path == node.container_path
                          ? node.host_path
                          : node.host_path + " as " + node.container_path);
    }
    return paths;
  }
  static std::vector<std::string> Ids(const std::vector<Device>& devices) {
    std::vector<std::string> ids;
    for (const Device& device : devices) ids.push_back(device.key.id);
    return ids;
  }
};

TEST_F(DevicesTest, AChipHasItsDieAsIdAndItsNodes) {
  AscendNode node(directory_, Eight910b3());
  const std::vector<Device> devices = Devices();
  ASSERT_EQ(devices.size(), 8U);
  const Device& device = devices[5];
  EXPECT_EQ(device.key, (DeviceKey{"huawei.com/npu", Id(5)}));
  EXPECT_EQ(device.model, "Ascend910B3");
  EXPECT_EQ(device.address, "0000:02:00.0");
  EXPECT_EQ(device.visible_as, "5");
  EXPECT_EQ(device.numa_nodes, std::vector<int>{0}) << "by its CPUs, as sysfs says -1";
  EXPECT_EQ(device.memory, 65'536);
  EXPECT_EQ(device.parent, "");
  EXPECT_EQ(Nodes(device), (std::vector<std::string>{"/dev/davinci5", "/dev/davinci_manager",
                                                     "/dev/devmm_svm", "/dev/hisi_hdc"}));
  EXPECT_EQ(device.traits->capacities.at("aicores"), 20);
  EXPECT_EQ(device.traits->takes.size(), 20U);
  EXPECT_EQ(device.traits->bundle, "");
  EXPECT_EQ(device.defect, std::nullopt);
}

TEST_F(DevicesTest, AContainerGetsTheNodesOfTheUnifiedBusIfThereAreAny) {
  AscendNode node(directory_, Eight910b3());
  Write("/dev/uburma/udma0", "");
  Write("/dev/ummu/tid", "");
  EXPECT_EQ(Nodes(Devices()[5]),
            (std::vector<std::string>{"/dev/davinci5", "/dev/davinci_manager", "/dev/devmm_svm",
                                      "/dev/hisi_hdc", "/dev/uburma/udma0", "/dev/ummu/tid"}));
}

TEST_F(DevicesTest, AContainerGetsTheDriversFilesThatTheHostHas) {
  AscendNode node(directory_, Eight910b3());
  Write("/usr/local/Ascend/driver/include/dcmi.h", "");
  Write("/host/etc/vnpu.cfg", "");
  Write("/host/etc/hccn.conf", "");  // the node's /etc in the agent's container
  const Device device = Devices()[0];
  std::vector<std::string> files;
  for (const Mount& mount : device.mounts) {
    EXPECT_EQ(mount.host_path, mount.container_path);
    EXPECT_TRUE(mount.read_only);
    files.push_back(mount.host_path);
  }
  EXPECT_EQ(files, (std::vector<std::string>{
                       "/usr/local/Ascend/driver/lib64", "/usr/local/Ascend/driver/include",
                       "/usr/local/Ascend/driver/version.info", "/usr/local/dcmi",
                       "/usr/local/bin/npu-smi", "/etc/ascend_install.info", "/etc/hccn.conf",
                       "/etc/vnpu.cfg"}));
}

TEST_F(DevicesTest, ARuntimeAddsNodesAndFilesItself) {
  AscendNode node(directory_, Eight910b3());
  const Device device = Devices({.mode = AscendConfig::Mode::kRuntime})[3];
  EXPECT_EQ(device.nodes, std::vector<DeviceNode>());
  EXPECT_EQ(device.mounts, std::vector<Mount>());
  EXPECT_EQ(device.visible_as, "3");
}

TEST_F(DevicesTest, TwoChipsOfOneAddressAreTwoDevices) {
  AscendNode node(directory_, Duo310p());
  const std::vector<Device> devices = Devices();
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].address, devices[1].address);
  EXPECT_EQ(Ids(devices), (std::vector<std::string>{Id(0), Id(1)}));
  EXPECT_EQ(devices[0].model, "Ascend310P");
  EXPECT_EQ(devices[0].memory, 43'692);
  EXPECT_EQ(devices[0].numa_nodes, std::vector<int>{1});
  EXPECT_EQ(devices[0].links, std::vector<Link>());
}

TEST_F(DevicesTest, AChipWithoutADieHasItsPlaceAsId) {
  SimNode duo = Duo310p();
  for (SimChip& chip : duo.chips) chip.die = {};
  AscendNode node(directory_, duo);
  EXPECT_EQ(Ids(Devices()), (std::vector<std::string>{"card3-chip0", "card3-chip1"}));
}

TEST_F(DevicesTest, IdsStayWhenOtherChipsLeaveAndNumbersMove) {
  SimNode eight = Eight910b3();
  std::swap(eight.chips[2].phy, eight.chips[6].phy);
  eight.chips[1].absent = true;
  AscendNode node(directory_, eight);
  const std::vector<Device> devices = Devices();
  ASSERT_EQ(devices.size(), 7U);
  const auto moved =
      std::ranges::find(devices, Id(6), [](const Device& one) { return one.key.id; });
  ASSERT_NE(moved, devices.end());
  EXPECT_EQ(moved->nodes[0].host_path, "/dev/davinci2");
}

TEST_F(DevicesTest, DiesOfAPackageGoTogetherIfTheDriverSaysSo) {
  AscendNode node(directory_, Sixteen910c());
  const std::vector<Device> devices = Devices();
  ASSERT_EQ(devices.size(), 16U);
  EXPECT_EQ(devices[4].model, "Ascend910C");
  EXPECT_EQ(devices[4].traits->bundle, "ascend/card2");
  EXPECT_EQ(devices[5].traits->bundle, "ascend/card2");
  EXPECT_EQ(devices[6].traits->bundle, "ascend/card3");
  const auto pair = std::ranges::find(devices[4].links, Id(5), &Link::peer);
  EXPECT_EQ(pair->points, 20);
  EXPECT_EQ(std::ranges::count(devices[4].links, 10, &Link::points), 14);
}

TEST_F(DevicesTest, DiesGoAloneIfTheDriverAllowsThat) {
  SimNode sixteen = Sixteen910c();
  sixteen.die_policy = 1;
  AscendNode node(directory_, sixteen);
  EXPECT_EQ(Devices()[4].traits->bundle, "");
}

TEST_F(DevicesTest, ChipsOfOneNetworkAreNear) {
  AscendNode node(directory_, Eight910a());
  const std::vector<Device> devices = Devices();
  EXPECT_EQ(devices[1].links, (std::vector<Link>{{.peer = Id(0), .points = 10},
                                                 {.peer = Id(2), .points = 10},
                                                 {.peer = Id(3), .points = 10}}));
  EXPECT_EQ(devices[4].links.front().peer, Id(5));
}

TEST_F(DevicesTest, AFamilyHasAResourceForEachModel) {
  SimNode mixed = Eight910b3();
  mixed.chips[7].name = "310P3";
  AscendNode node(directory_, mixed);
  const AscendConfig family{.family = "huawei.com/{profile}"};
  const std::vector<Device> all = Devices(family, "huawei.com/{profile}");
  EXPECT_EQ(all.front().key.source, "huawei.com/Ascend910B3");
  EXPECT_EQ(all.back().key.source, "huawei.com/Ascend310P");
  EXPECT_EQ(Devices(family, "huawei.com/Ascend910B3").size(), 7U);
  EXPECT_EQ(Devices({.profile = "Ascend310P"}).size(), 1U);
}

TEST_F(DevicesTest, AChipIsAsManyDevicesAsVnpusOfATemplateFit) {
  AscendNode node(directory_, Eight910b3());
  const AscendConfig config{.vnpu_template = "vir05_1c_16g"};
  const std::vector<Device> devices = Devices(config);
  ASSERT_EQ(devices.size(), 32U);
  const Device& device = devices[6];
  EXPECT_EQ(device.key.id, Id(1) + "-vir05_1c_16g-2");
  EXPECT_EQ(device.parent, Id(1));
  EXPECT_EQ(device.model, "Ascend910B3-vir05_1c_16g");
  EXPECT_EQ(device.memory, 16'384);
  EXPECT_EQ(device.traits->capacities.at("aicores"), 5);
  EXPECT_EQ(device.traits->takes.front(), "ascend/davinci1/10");
  EXPECT_EQ(device.traits->takes.size(), 5U);
  EXPECT_EQ(Nodes(device),
            (std::vector<std::string>{"/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"}));
  EXPECT_EQ(Devices({.vnpu_template = "vir30_1c"}), std::vector<Device>()) << "no chip is so large";
}

TEST_F(DevicesTest, VnpusOfOthersLeaveLessRoom) {
  AscendNode node(directory_, Eight910b3());
  node.MakeVnpu(0, 100, "vir10_3c_32g");
  node.MakeVnpu(0, 107, "vir05_1c_16g");
  const std::vector<Device> devices = Devices({.vnpu_template = "vir05_1c_16g"}, "huawei.com/npu",
                                              Own(107, Id(0) + "-vir05_1c_16g-3"));
  EXPECT_EQ(devices[0].defect, std::nullopt);
  EXPECT_EQ(devices[1].defect,
            (Error{Reason::kUnavailable, "vNPUs of other programs have the AI cores of chip 0"}));
  EXPECT_EQ(devices[2].defect, devices[1].defect);
  EXPECT_EQ(devices[3].defect, std::nullopt) << "it is made";
  EXPECT_EQ(devices[6].defect, std::nullopt) << "another chip";
}

TEST_F(DevicesTest, AVnpuOfTheAgentsWithoutANumberYetIsNoOthers) {
  AscendNode node(directory_, Eight910b3());
  node.MakeVnpu(0, 100, "vir05_1c_16g");
  const OwnVnpus own = Own(std::nullopt, Id(0) + "-vir05_1c_16g-3");
  EXPECT_EQ(Devices({}, "huawei.com/npu", own)[0].defect, std::nullopt);
  for (const Device& slot : Devices({.vnpu_template = "vir05_1c_16g"}, "huawei.com/npu", own)) {
    EXPECT_EQ(slot.defect, std::nullopt);
  }
  EXPECT_EQ(Devices({.fixed = true}, "huawei.com/npu", own), std::vector<Device>());
  const std::string known = Id(0) + "-100";
  EXPECT_EQ(Ids(Devices(Read(), {.fixed = true}, "huawei.com/npu", own, {{known, {}}})),
            std::vector<std::string>{known});
}

TEST_F(DevicesTest, AVnpuInPlaceOfALostOneIsAnotherPrograms) {
  AscendNode node(directory_, Eight910b3());
  node.MakeVnpu(0, 107, "vir05_1c_16g");
  OwnVnpus own = Own(107, Id(0) + "-vir05_1c_16g-3");
  EXPECT_EQ(Devices({}, "huawei.com/npu", own)[0].defect, std::nullopt);
  own.begin()->second.state = VnpuState::kLost;
  EXPECT_EQ(Devices({}, "huawei.com/npu", own)[0].defect,
            (Error{Reason::kUnavailable, "chip 0 has vNPUs that the agent did not make"}));
}

TEST_F(DevicesTest, AChipThatCannotBeReadIsADeviceOfEachResource) {
  AscendNode node(directory_, Eight910b3());
  Chips chips = Read();
  const Error trouble{Reason::kUnreadable, "it does not answer"};
  chips.chips[0] = {.place = {}, .trouble = trouble};
  const std::string slot = Id(0) + "-vir05_1c_16g-3";
  const std::vector<Device> slots =
      Devices(chips, {.vnpu_template = "vir05_1c_16g"}, "huawei.com/npu", Own(107, slot));
  ASSERT_EQ(slots.size(), 30U);
  EXPECT_EQ(slots[0].key.id, "card0-chip0");
  EXPECT_EQ(slots[0].model, "Ascend910B3-vir05_1c_16g");
  EXPECT_EQ(slots[0].defect, trouble);
  EXPECT_EQ(slots[1].key.id, slot) << "a grant has it";
  EXPECT_EQ(slots[1].defect, trouble);
  const std::vector<Device> fixed = Devices(chips, {.fixed = true});
  ASSERT_EQ(fixed.size(), 1U);
  EXPECT_EQ(fixed[0].key.id, "card0-chip0");
  EXPECT_EQ(fixed[0].defect, trouble);
}

TEST_F(DevicesTest, ChipsThatCannotBeReadComeLastEachAtAPlaceOfItsOwn) {
  AscendNode node(directory_, Eight910b3());
  Chips chips = Read();
  const Error trouble{Reason::kUnreadable, "it does not answer"};
  chips.chips[0] = {.place = {0, 0}, .trouble = trouble};
  chips.chips[1] = {.place = {1, 0}, .trouble = trouble};
  const std::vector<Device> devices = Devices(chips, {});
  EXPECT_EQ(devices[0].order, 64 * kOrderStep);
  EXPECT_EQ(devices[1].order, 65 * kOrderStep);
  EXPECT_EQ(devices[2].order, 2 * kOrderStep);
}

TEST_F(DevicesTest, ADieThatCannotBeReadKeepsItsPackageTogether) {
  AscendNode node(directory_, Sixteen910c());
  Chips chips = Read();
  chips.chips[5] = {.place = {2, 1}, .trouble = Error{Reason::kUnreadable, "it does not answer"}};
  const std::vector<Device> devices = Devices(chips, {});
  EXPECT_EQ(devices[4].traits->bundle, "ascend/card2");
  EXPECT_EQ(devices[5].traits->bundle, "ascend/card2");
}

TEST_F(DevicesTest, AnAdministratorsVnpuIsADeviceAndItsChipIsOut) {
  AscendNode node(directory_, Eight910b3());
  node.MakeVnpu(4, 164, "vir10_3c_32g");
  const std::vector<Device> vnpus = Devices({.fixed = true});
  ASSERT_EQ(vnpus.size(), 1U);
  EXPECT_EQ(vnpus[0].key.id, Id(4) + "-164");
  EXPECT_EQ(vnpus[0].visible_as, "164");
  EXPECT_EQ(vnpus[0].parent, Id(4));
  EXPECT_EQ(vnpus[0].memory, 32'768);
  EXPECT_EQ(vnpus[0].traits->capacities.at("aicores"), 10);
  EXPECT_EQ(Nodes(vnpus[0]).front(), "/dev/vdavinci164 as /dev/davinci164");
  EXPECT_EQ(vnpus[0].traits->takes, std::vector<std::string>{"ascend/vdavinci164"});
  const std::vector<Device> chips = Devices();
  ASSERT_EQ(chips.size(), 8U);
  EXPECT_EQ(chips[3].defect, std::nullopt);
  EXPECT_EQ(chips[4].defect,
            (Error{Reason::kUnavailable, "chip 4 has vNPUs that the agent did not make"}));
  EXPECT_EQ(chips[4].traits->takes.back(), "ascend/vdavinci164");
  EXPECT_EQ(Devices({.vnpu_template = "vir05_1c_16g", .fixed = true}), std::vector<Device>());
  const AscendConfig family{.family = "huawei.com/{profile}", .fixed = true};
  EXPECT_EQ(Devices(family, family.family)[0].key.source, "huawei.com/Ascend910B3-vir10_3c_32g");
}

Offer OfferOf(const std::vector<Device>& devices) {
  const InventoryPtr inventory =
      Merge(std::make_shared<Inventory>(), "huawei.com/npu", devices, [](const DeviceKey&) {
        return false;
      }).inventory;
  return Divide("huawei.com/npu", {Policy()}, *inventory, "huawei.com/npu",
                [](const Device&) -> std::optional<Error> { return std::nullopt; });
}

TEST_F(DevicesTest, AGrantHasTheNodesOfItsChipsAndTheCommonOnesOnce) {
  AscendNode node(directory_, Eight910b3());
  const Grant grant =
      Allocate(OfferOf(Devices()), Rendering(), std::vector<std::string>{Id(5), Id(1)}).value();
  std::vector<std::string> nodes;
  for (const DeviceNode& one : grant.devices) nodes.push_back(one.host_path);
  EXPECT_EQ(nodes, (std::vector<std::string>{"/dev/davinci1", "/dev/davinci_manager",
                                             "/dev/devmm_svm", "/dev/hisi_hdc", "/dev/davinci5"}));
  EXPECT_EQ(grant.envs, (std::map<std::string, std::string>()));
}

TEST_F(DevicesTest, AGrantForTheRuntimeNamesItsChipsByPhysicalNumbers) {
  AscendNode node(directory_, Eight910b3());
  const Offer offer = OfferOf(Devices({.mode = AscendConfig::Mode::kRuntime}));
  Rendering rendering;
  rendering.env = "ASCEND_VISIBLE_DEVICES";
  Grant expected;
  expected.envs = {{"ASCEND_VISIBLE_DEVICES", "1,5"}};
  EXPECT_EQ(Allocate(offer, rendering, std::vector<std::string>{Id(5), Id(1)}).value(), expected);
}

TEST_F(DevicesTest, HalfOfAPackageIsNotGranted) {
  AscendNode node(directory_, Sixteen910c());
  const Offer offer = OfferOf(Devices());
  EXPECT_EQ(Allocate(offer, Rendering(), std::vector<std::string>{Id(4)}).error().reason,
            Reason::kIncompleteBundle);
  EXPECT_TRUE(Allocate(offer, Rendering(), std::vector<std::string>{Id(4), Id(5)}));
}

TEST_F(DevicesTest, OnlyAProcessorOfHuaweisIsAChip) {
  EXPECT_FALSE(HasChip(root_));
  Write("/sys/bus/pci/devices/0000:03:00.0/vendor", "0x19e5\n");
  Write("/sys/bus/pci/devices/0000:03:00.0/class", "0x030000\n");
  EXPECT_FALSE(HasChip(root_)) << "the board's display";
  Write("/sys/bus/pci/devices/0000:c1:00.0/vendor", "0x19e5\n");
  Write("/sys/bus/pci/devices/0000:c1:00.0/class", "0x120000\n");
  EXPECT_TRUE(HasChip(root_));
}

TEST(TemplateCores, AreTheNumberInItsName) {
  EXPECT_EQ(TemplateCores("vir10_3c_32g"), 10U);
  EXPECT_EQ(TemplateCores("vir02"), 2U);
  EXPECT_EQ(TemplateCores("vir"), 0U);
  EXPECT_EQ(TemplateCores("10_3c"), 0U);
  EXPECT_EQ(TemplateCores("vir999"), 0U);
}

}  // namespace
}  // namespace tessera::ascend
