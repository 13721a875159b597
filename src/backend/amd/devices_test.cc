// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "amd/node.h"
#include "backend/amd/node_test.h"
#include "grant/grant.h"
#include "share/share.h"

namespace tessera::amd {
namespace {

class DevicesTest : public NodeTest {
 protected:
  std::vector<Device> Devices(const AmdConfig& config = {},
                              const std::string& name = "amd.com/gpu") const {
    return DevicesOf(root_, name, config, ReadGpus(root_).value().gpus);
  }
  static std::vector<std::string> Nodes(const Device& device) {
    std::vector<std::string> paths;
    for (const DeviceNode& node : device.nodes)
      paths.push_back(node.host_path + " " + node.permissions);
    return paths;
  }
  static Offer OfferOf(std::vector<Device> devices) {
    const InventoryPtr inventory = Merge(std::make_shared<Inventory>(), "amd.com/gpu",
                                         std::move(devices), [](const DeviceKey&) { return false; })
                                       .inventory;
    return Divide("amd.com/gpu", {}, *inventory, "amd.com/gpu",
                  [](const Device&) -> std::optional<Error> { return std::nullopt; });
  }
  static int PointsTo(const Device& device, const std::string& peer) {
    const auto link = std::ranges::find(device.links, peer, &Link::peer);
    return link == device.links.end() ? 0 : link->points;
  }
};

TEST_F(DevicesTest, AWholeGpuHasItsAddressAndItsThreeNodes) {
  AmdNode node(directory_, Mi300x());
  const std::vector<Device> devices = Devices();
  ASSERT_EQ(devices.size(), 8U);
  const Device& device = devices[0];
  EXPECT_EQ(device.key, (DeviceKey{"amd.com/gpu", "0000:05:00.0"}));
  EXPECT_EQ(device.model, "AMD Instinct MI300X OAM");
  EXPECT_EQ(device.address, "0000:05:00.0");
  EXPECT_EQ(device.visible_as, "GPU-e3aa140f9a5f9e31");
  EXPECT_EQ(device.numa_nodes, std::vector<int>{0});
  EXPECT_EQ(device.memory, 196'592);
  EXPECT_EQ(device.parent, "");
  EXPECT_EQ(Nodes(device), (std::vector<std::string>{"/dev/kfd rw", "/dev/dri/renderD128 rw",
                                                     "/dev/dri/card1 rw"}));
  EXPECT_EQ(device.traits->capacities.at("cu"), 304);
  EXPECT_FALSE(device.traits->shares_memory);
  EXPECT_NE(device.traits->pci_path.find("0000:05:00.0"), std::string::npos);
  EXPECT_EQ(device.defect, std::nullopt);
}

TEST_F(DevicesTest, APartitionIsAPartOfItsGpuAndHasNodesOfItsOwn) {
  AmdNode node(directory_, Mi300xCpx());
  const std::vector<Device> devices = Devices();
  ASSERT_EQ(devices.size(), 63U);
  const Device& device = devices[11];
  EXPECT_EQ(device.key.id, "0000:27:00.0-3");
  EXPECT_EQ(device.parent, "0000:27:00.0");
  EXPECT_EQ(device.model, "AMD Instinct MI300X OAM cpx_nps1");
  EXPECT_EQ(device.memory, 24'574);
  EXPECT_TRUE(device.traits->shares_memory);
  EXPECT_EQ(Nodes(device), (std::vector<std::string>{"/dev/kfd rw", "/dev/dri/renderD139 rw",
                                                     "/dev/dri/card12 rw"}));
}

TEST_F(DevicesTest, IdsStayWhenOtherGpusArePartitionedOrLeave) {
  AmdNode node(directory_, Mi300x());
  const Device before = Devices()[5];
  node.SetCompute(0, "CPX");
  node.Unplug(2);
  const std::vector<Device> devices = Devices();
  const auto now = std::ranges::find(devices, before.key, &Device::key);
  ASSERT_NE(now, devices.end());
  EXPECT_EQ(now->nodes, before.nodes);
  EXPECT_EQ(devices.size(), 8U + 6U);
}

TEST_F(DevicesTest, IdsByUuidMoveWithTheCard) {
  AmdNode node(directory_, Mi300xCpx());
  const AmdConfig config{.ids = AmdConfig::Ids::kUuid};
  EXPECT_EQ(Devices(config)[1].key.id, "e3ff74a1-0000-1000-80aa-140f9a5f9e31-1");
  EXPECT_EQ(Devices({.names = AmdConfig::Names::kIndex})[9].visible_as, "9");
}

TEST_F(DevicesTest, TheContainerToolkitKnowsWholeGpusBySerialNumberAndPartsByNumber) {
  const AmdConfig config{.names = AmdConfig::Names::kToolkit};
  {
    AmdNode node(directory_, Mi300x());
    EXPECT_EQ(Devices(config)[1].visible_as, "0x2250F807CAF2231A");
    node.SetCompute(1, "DPX");
    const std::vector<Device> devices = Devices(config);
    EXPECT_EQ(devices[1].visible_as, "1");
    EXPECT_EQ(devices[2].visible_as, "2");
    EXPECT_EQ(devices[3].visible_as, "0xD802D560D4BA851D");
  }
  Renew();
  const AmdNode node(directory_, Apu());
  EXPECT_EQ(Devices(config)[0].visible_as, "0");  // without a serial number
}

TEST_F(DevicesTest, AFamilyHasAResourceForEachProfile) {
  AmdNode node(directory_, Mi300x());
  node.SetCompute(7, "CPX");
  const std::vector<Device> devices = Devices({.family = "amd.com/{profile}"}, "amd.com/{profile}");
  EXPECT_EQ(devices.front().key.source, "amd.com/spx_nps1");
  EXPECT_EQ(devices.back().key.source, "amd.com/cpx_nps1");
  EXPECT_EQ(Devices({.family = "amd.com/{profile}"}, "amd.com/spx_nps1").size(), 7U);
  EXPECT_EQ(Devices({.profile = "spx_nps1"}).size(), 7U);
  EXPECT_EQ(Devices({.exclude = {{"0000:05:00.0"}}}).front().key.id, "0000:27:00.0");
}

TEST_F(DevicesTest, AResourceOfAFamilyHasTheGpusOfItsProfileAlone) {
  AmdNode node(directory_, Mi300x());
  node.SetCompute(7, "CPX");
  const AmdConfig config{.family = "amd.com/{profile}"};
  EXPECT_EQ(Devices(config, "amd.com/spx_nps1").size(), 7U);
  EXPECT_EQ(Devices(config, "amd.com/cpx_nps1").size(), 7U);
  EXPECT_EQ(Devices(config, "amd.com/{profile}").size(), 14U);
}

TEST_F(DevicesTest, PartsWithMemoryOfTheirOwnShareNone) {
  AmdNode node(directory_, Mi308xCpx());
  EXPECT_TRUE(Devices()[1].traits->shares_memory);
  node.SetMemoryMode("NPS4");
  EXPECT_FALSE(Devices()[1].traits->shares_memory);
}

TEST_F(DevicesTest, AGpuTakesTheSameHardwareUnderEachId) {
  AmdNode node(directory_, Mi210());
  const Device by_address = Devices()[0];
  const Device by_uuid = Devices({.ids = AmdConfig::Ids::kUuid})[0];
  EXPECT_NE(by_uuid.key.id, by_address.key.id);
  EXPECT_EQ(by_uuid.traits->takes, by_address.traits->takes);
  EXPECT_EQ(by_uuid.traits->takes.size(), 25U);
  EXPECT_EQ(by_uuid.traits->takes.back(), "amd/renderD130");
}

struct Mode {
  std::string name;
  SimNode (*hardware)() = nullptr;
  size_t parts = 0;
  int64_t compute_units = 0;  // of each part
};

class ModesTest : public DevicesTest, public testing::WithParamInterface<Mode> {
 protected:
  // All that it takes but its render node.
  static std::vector<std::string> PiecesOf(const Device& device) {
    std::vector<std::string> pieces = device.traits->takes;
    std::erase_if(pieces, [](const auto& name) { return name.starts_with("amd/renderD"); });
    return pieces;
  }
};

TEST_P(ModesTest, PartsOfOneGpuTakeOtherHardwareAndTogetherAllOfIt) {
  const Mode& mode = GetParam();
  AmdNode node(directory_, mode.hardware());
  const Device whole = Devices()[0];
  const std::vector<std::string> all = PiecesOf(whole);
  EXPECT_EQ(all.size(), 24U);
  node.SetCompute(0, mode.name);
  std::vector<std::string> taken;
  size_t parts = 0;
  for (const Device& device : Devices()) {
    if (device.address != whole.address) continue;
    EXPECT_EQ(device.key.id, whole.key.id + "-" + std::to_string(parts++));
    const std::vector<std::string> pieces = PiecesOf(device);
    EXPECT_EQ(pieces.size(), 24 / mode.parts);
    EXPECT_EQ(device.traits->capacities.at("cu"), mode.compute_units);
    taken.insert(taken.end(), pieces.begin(), pieces.end());
  }
  EXPECT_EQ(parts, mode.parts);
  EXPECT_EQ(taken, all);
}

INSTANTIATE_TEST_SUITE_P(Of, ModesTest,
                         testing::Values(Mode{"DPX", Mi300x, 2, 152}, Mode{"QPX", Mi300x, 4, 76},
                                         Mode{"CPX", Mi300x, 8, 38}, Mode{"TPX", Mi300a, 3, 76},
                                         Mode{"CPX", Mi300a, 6, 38}),
                         [](const auto& mode) {
                           return mode.param.name + "In" + std::to_string(mode.param.parts);
                         });

TEST_F(DevicesTest, EachModeIsAResourceOfItsOwnInAFamily) {
  AmdNode node(directory_, Mi300a());
  node.SetCompute(0, "TPX");
  node.SetCompute(1, "CPX");
  std::map<std::string, size_t> counts;
  for (const Device& device : Devices({.family = "amd.com/{profile}"}, "amd.com/{profile}")) {
    ++counts[device.key.source];
  }
  EXPECT_EQ(counts,
            (std::map<std::string, size_t>{
                {"amd.com/tpx_nps1", 3}, {"amd.com/cpx_nps1", 6}, {"amd.com/spx_nps1", 2}}));
}

TEST_F(DevicesTest, AFunctionOfADriverIsAGpuAndNoPartition) {
  SimNode hardware = Mi210();
  hardware.gpus.resize(1);
  hardware.gpus[0].address.back() = '1';
  AmdNode node(directory_, hardware);
  const std::string file = "/sys/class/kfd/kfd/topology/nodes/2/properties";
  std::string properties = os::ReadFile(directory_ + file).value();
  const std::string location = "location_id 25344";  // of function 0
  properties.replace(properties.find(location), location.size(), "location_id 25345");
  Write(file, properties);
  const std::vector<Device> devices = Devices();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].key.id, hardware.gpus[0].address);
  EXPECT_EQ(devices[0].defect, std::nullopt);
}

TEST_F(DevicesTest, NearnessIsWhatRocmsPluginComputes) {
  AmdNode node(directory_, Mi300xCpx());
  const std::vector<Device> parts = Devices();
  // The farthest pairs have 40, which all links are without.
  EXPECT_EQ(PointsTo(parts[0], "0000:05:00.0-1"), 90 - 30 - 40);
  EXPECT_EQ(PointsTo(parts[0], "0000:27:00.0-0"), 90 - 40 - 40);
  EXPECT_EQ(PointsTo(parts[0], "0000:85:00.0-0"), 90 - 50 - 40);
  EXPECT_EQ(parts[0].links.size(), 31U);
}

TEST_F(DevicesTest, AGrantForTheContainerToolkitHasTheNodesAndNamesThem) {
  const AmdNode node(directory_, Mi300x());
  Rendering rendering;
  rendering.env = "AMD_VISIBLE_DEVICES";
  const Grant grant = Allocate(OfferOf(Devices({.names = AmdConfig::Names::kToolkit})), rendering,
                               std::vector<std::string>{"0000:05:00.0", "0000:27:00.0"})
                          .value();
  Grant expected;
  expected.envs = {{"AMD_VISIBLE_DEVICES", "0xE3AA140F9A5F9E31,0x2250F807CAF2231A"}};
  for (const char* path : {"/dev/kfd", "/dev/dri/renderD128", "/dev/dri/card1",
                           "/dev/dri/renderD136", "/dev/dri/card9"}) {
    expected.devices.push_back({path, path, "rw"});
  }
  EXPECT_EQ(grant, expected);
}

TEST_F(DevicesTest, ACdiDocumentHasTheNodesOfEachGpu) {
  SimNode hardware = Mi300x();
  hardware.gpus.resize(2);
  const AmdNode node(directory_, hardware);
  Rendering rendering;
  rendering.strategies = {Strategy::kCdiCri};
  rendering.cdi_kind = "tessera.dev/amd-gpu";
  const Offer offer = OfferOf(Devices());

  EXPECT_EQ(cdi::Text(cdi::Tidy(CdiDocument(offer, rendering))), R"({
  "cdiVersion": "0.5.0",
  "kind": "tessera.dev/amd-gpu",
  "devices": [
    {
      "name": "0000:05:00.0",
      "containerEdits": {
        "deviceNodes": [
          {
            "path": "/dev/kfd",
            "permissions": "rw"
          },
          {
            "path": "/dev/dri/renderD128",
            "permissions": "rw"
          },
          {
            "path": "/dev/dri/card1",
            "permissions": "rw"
          }
        ]
      }
    },
    {
      "name": "0000:27:00.0",
      "containerEdits": {
        "deviceNodes": [
          {
            "path": "/dev/kfd",
            "permissions": "rw"
          },
          {
            "path": "/dev/dri/renderD136",
            "permissions": "rw"
          },
          {
            "path": "/dev/dri/card9",
            "permissions": "rw"
          }
        ]
      }
    }
  ]
}
)");
  const Grant grant = Allocate(offer, rendering, std::vector<std::string>{"0000:27:00.0"}).value();
  EXPECT_EQ(grant.cdi_devices, std::vector<std::string>{"tessera.dev/amd-gpu=0000:27:00.0"});
}

TEST_F(DevicesTest, AGpuThatIsLostIsADeviceWithADefect) {
  AmdNode node(directory_, Mi300x());
  Write("/sys/class/kfd/kfd/topology/nodes/3/properties", "cpu_cores_count 0\nsimd_count 0\n");
  const std::vector<Device> devices = Devices();
  ASSERT_EQ(devices.size(), 8U);
  EXPECT_EQ(devices[1].defect, (Error{Reason::kUnreadable,
                                      "0000:27:00.0: amdgpu has it, and no part of it can compute: "
                                      "leave it out by 'exclude' if it is only for displays"}));
  EXPECT_EQ(devices[2].defect, std::nullopt);
}

}  // namespace
}  // namespace tessera::amd
